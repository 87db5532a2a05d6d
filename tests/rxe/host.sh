# Runs in the guest, with the rig's lib.sh read: rxe0 on veth0, rxe1 on veth1, and "ext", a host
# without RDMA.
. /rig/files/checks.sh
# Connections left on the server: anything but what listens.
left() { ! rdma resource show cm_id | grep -v LISTEN | grep -q . && ! rdma resource show qp | grep -q 'type RC'; }
# equal COUNTER: the wire's count in /out/beside.json is the NIC's.
equal() {
    tr -d ' \n' < /out/beside.json | grep -oE "\"event\":\"$1\",\"wire\":[0-9]+,\"nic\":[0-9]+" > /out/pair.txt
    local wire nic
    IFS=, read -r wire nic < <(sed -E 's/.*"wire":([0-9]+),"nic":([0-9]+)/\1,\2/' /out/pair.txt)
    echo "$1: wire $wire, NIC $nic"; [ -n "$wire" ] && [ "$wire" -gt 0 ] && [ "$wire" = "$nic" ]
}
mode_file=/sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_mode
tos_file=/sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos

ok "devices: none yet" says "No RDMA device" roce-sniff devices
ok "mode: no device is an error" rc 2 roce-sniff mode
topo_pair 1500; topo_ext
peer_route veth0 $A4 $X4; peer_route veth1 $B4 $X4; peer_route veth0 $A6 $X6; peer_route veth1 $B6 $X6

for gid in fe80::ff:fe77:1 ::ffff:10.77.0.1 fd77::1; do
    ok "devices: GID $gid as ibv_devinfo has it" says "$gid" ibv_devinfo -v -d rxe0
    ok "devices: GID $gid" says "$gid" roce-sniff devices
done
ok "devices: netdev as rdma link has it" says "netdev veth1" rdma link show rxe1/1
ok "devices: netdev" says "rxe1/1" roce-sniff devices
ok "devices: how to capture" says "roce-sniff veth0" roce-sniff devices

umount /sys/kernel/config 2>/dev/null || true
ok "mode: says that configfs is not mounted" says "configfs is not mounted" roce-sniff mode rxe0
ok "mode: and mounts nothing" rc 1 grep -q /sys/kernel/config /proc/mounts
ok "mode: a dry run" says "mkdir /sys/kernel/config/rdma_cm/rxe0" roce-sniff mode rxe0 --set v2 --dry-run
ok "mode: and does nothing" rc 1 grep -q /sys/kernel/config /proc/mounts
ok "mode: sets" says "RoCE v2, ToS 104" roce-sniff mode rxe0 --set v2 --set-tos 104
ok "mode: the kernel agrees" says "RoCE v2" cat $mode_file
ok "mode: the kernel agrees on ToS" says 104 cat $tos_file
ok "mode: what the kernel refuses" rc 2 roce-sniff mode rxe0 --set v1 --set-tos 8
ok "mode: changes nothing" says 104 cat $tos_file
ok "mode: which port" rc 2 roce-sniff mode --set v2
ok "mode: persists" rc 0 roce-sniff mode rxe0 --set v2 --persist
ok "mode: by a unit that is enabled" test -e /etc/systemd/system/multi-user.target.wants/roce-sniff-mode-rxe0.service

for host in $B4 $B6; do
    ok "probe: REJ from an idle host, $host" says "invalid service id" ext roce-sniff probe $host
    ok "probe: exit code, $host" rc 0 ext roce-sniff probe $host --expect v2 -q
done
ok "probe: nothing is left" left
rping -s -a $B4 -C 10 > /dev/null 2>&1 & sleep 1
ok "probe: REP from rping" says "REP (accepted)" ext roce-sniff probe $B4 --port 7174
sleep 1; ok "probe: nothing is left after a REP" left
rping -s -a $B4 -C 10 > /dev/null 2>&1 & sleep 1
ok "probe: a whole connection" says "DREQ, DREP after" ext roce-sniff probe $B4 --port 7174 --complete
sleep 1; ok "probe: nothing is left after a connection" left
rping -s -P -a $B4 -C 10 > /dev/null 2>&1 & server=$!; sleep 1
ok "ping: three of three" says "3 rounds, 3 connected" ext roce-sniff ping $B4 --port 7174 -c 3 --interval 100ms
sleep 1; ok "ping: nothing is left" left
kill $server 2>/dev/null || true; wait $server || true
ok "ping: nobody listens" rc 1 ext roce-sniff ping $B4 --port 7175 -c 1
ok "probe: from a host with soft-RoCE" says "rxe0/1 opens connections with RoCE v2" roce-sniff probe $B4
ok "probe: soft-RoCE does not know v1" says '"answer": "silence"' ext roce-sniff probe $B4 --v1 --tries 1 --timeout 300ms --format json
ok "probe: no RoCE there" says "ICMP port unreachable" roce-sniff probe $X4 -i veth0
ok "probe: exit code of that" rc 1 roce-sniff probe $X4 -i veth0 -q
ok "probe: a dead address" rc 1 ext roce-sniff probe 10.77.0.99
wire_to_b loss 100%
ok "probe: silence" says "silence, 2 requests" ext roce-sniff probe $B4 --mac $MAC1 --tries 2 --timeout 200ms
ip netns exec sw tc qdisc del dev p1 root
ok "probe: no route" rc 2 ext roce-sniff probe 192.0.2.1
ok "probe: a name" rc 2 ext roce-sniff probe server1
ok "probe: oneself" rc 2 ext roce-sniff probe $X4

wire_to_b loss 5%
roce-sniff veth0 --duration 14s --format json > /out/beside.json 2>/out/beside.err & live=$!
sleep 2
rping -s -a $B4 -C 200 > /dev/null 2>&1 & server=$!; sleep 1
timeout 8 rping -c -a $B4 -C 200 > /dev/null 2>&1 || true
wait $live; kill $server 2>/dev/null || true; wait $server 2>/dev/null || true
ip netns exec sw tc qdisc del dev p1 root
ok "live: packets sent, wire and NIC" equal packet_sent
ok "live: packets received, wire and NIC" equal packet_received
ok "live: duplicate requests, wire and NIC" equal duplicate_request
ok "live: nothing on soft-RoCE" says "its traffic passes veth0" roce-sniff veth0 --duration 300ms
ok "live: nothing, and no device there" says "has no RDMA device" ip netns exec sw roce-sniff p0 --duration 300ms

# The host's own word on who has the queue pairs, while they live.
rping -s -a $B4 > /dev/null 2>&1 & server=$!; sleep 1
rping -c -a $B4 > /dev/null 2>&1 & client=$!; sleep 1
owned() { tr -d ' \n' < /out/owners.json | grep -qE "$1"; }
ok "connections: live" rc 0 roce-sniff connections veth0 --duration 3s --format json -w /out/owners.pcap
cp /out/last.txt /out/owners.json
ok "connections: the client's process" owned "\"addr\":\"$A4\",\"qpn\":[0-9]+[^}]*\"process\":\"rping\",\"pid\":$client,"
ok "connections: the server's, and its port" owned "\"addr\":\"$B4\"[^}]*\"process\":\"rping\",\"pid\":$server,\"cm_port\":7174"
ok "connections: in text" says "rping[$client]" roce-sniff connections veth0 --duration 1s
ok "connections: of a file just captured" says "rping[$client]" roce-sniff connections --live /out/owners.pcap
ok "connections: not of any file" rc 1 says "rping" roce-sniff connections /out/owners.pcap
ok "connections: one way, and the host knows both numbers" says '"learned_from": "host"' \
    roce-sniff connections veth0 --duration 2s --format json -f "src host $A4"
kill $client $server; wait $client $server 2>/dev/null || true
ok "connections: no RDMA device there" rc 0 ip netns exec sw roce-sniff connections p0 --duration 300ms
echo done >> $checks
