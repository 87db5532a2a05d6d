# Runs in the guest, with the rig's lib.sh read: frames that `craft`, `send` and `rewrite` make, given to
# the kernel. They leave host "ext", which has no RDMA, and reach rxe1 on veth1.
. /rig/files/checks.sh
rxe1_counter() { cat /sys/class/infiniband/rxe1/ports/1/hw_counters/$1; }
# receive NAME: a UD queue pair on rxe1; its number is in $qpn, what it receives in /out/NAME.received.
receive() {
    : > /out/$1.received
    ud_receiver rxe1 > /out/$1.received 2>&1 & receiver=$!
    until_says '^qpn' /out/$1.received
    read -r _ qpn < /out/$1.received
}
stop_receiver() { kill $receiver; wait $receiver 2>/dev/null || true; }
# send_to_rxe1 SOURCE [OPTION...]: sends it; how many frames went, and how many veth1 and rxe1 took, is in
# $sent, $arrived and $taken.
send_to_rxe1() {
    local frames=$(cat /sys/class/net/veth1/statistics/rx_packets) packets=$(rxe1_counter rcvd_pkts)
    ext roce-sniff send "$@" -i veth2 --rate 2kpps --format json > /out/sent.json || return 1
    sleep 1
    sent=$(tr -d ' \n' < /out/sent.json | grep -oE '"frames":[0-9]+' | head -1 | tr -dc 0-9)
    arrived=$(($(cat /sys/class/net/veth1/statistics/rx_packets) - frames))
    taken=$(($(rxe1_counter rcvd_pkts) - packets))
}
counts() { echo "sent $sent, arrived $arrived, taken $taken"; }
# The device counts a packet when it has found the ICRC right.
all_taken() { counts; [ "$sent" -gt 0 ] && [ "$sent" = "$taken" ]; }
none_taken() { counts; [ "$sent" -gt 0 ] && [ "$arrived" -ge "$sent" ] && [ "$taken" = 0 ]; }
# expected CAPTURE: what its frames to $qpn ought to show.
expected() { tcpdump -r "$1" -nn -t -xx 2>/dev/null | awk -v qpn=$((qpn)) -f /rig/files/ud_expected.awk; }
# received NAME COUNT: so many messages came, and they are what the capture has for $qpn.
received() {
    expected /out/$1.pcap > /out/$1.expected
    sed 1d /out/$1.received > /out/$1.got
    wc -l < /out/$1.got; [ "$(wc -l < /out/$1.got)" = "$2" ] && diff /out/$1.expected /out/$1.got
}
# scenario [LINE...]: 26 UD SENDs of all sizes from "ext" to $qpn.
scenario() {
    cat <<END
[[host]]
name = "ext"
mac = "$MAC2"
ipv4 = "$X4"
ipv6 = "$X6"
[[host]]
name = "b"
mac = "$MAC1"
ipv4 = "$B4"
ipv6 = "$B6"
[[connection]]
from = "ext"
to = "b"
carrier = "v2-ip$family"
service = "ud"
dscp = 26
ecn = "ect0"
qpn = [0x4242, $qpn]
[[connection.op]]
kind = "send"
sizes = [0, 1, 2, 3, 4, 64, 255, 1000, 1023, 1024]
count = 20
[[connection.op]]
kind = "send"
sizes = [0, 5, 1024]
count = 6
immediate = true
solicited = true
END
    printf '%s\n' "$@"
}

topo_pair 1500; topo_ext
peer_route veth1 $B4 $X4; peer_route veth1 $B6 $X6

for family in v4 v6; do
    case $family in v4) b=$B4 ;; v6) b=$B6 ;; esac
    crafted=crafted-$family spoilt=spoilt-$family mended=mended-$family
    receive $crafted
    scenario > /out/$crafted.toml
    ok "crafted, $family: craft" roce-sniff craft /out/$crafted.toml -o /out/$crafted.pcap
    ok "crafted, $family: send" send_to_rxe1 /out/$crafted.toml
    ok "crafted, $family: the kernel finds every ICRC right" all_taken
    ok "crafted, $family: a live queue pair receives all, byte for byte" received $crafted 26
    ok "crafted, $family: send to a host that is asked for its address" \
        send_to_rxe1 /out/$crafted.pcap --src-mac auto --dst-mac auto --src-ip auto --dst-ip $b
    ok "crafted, $family: and every ICRC is right again" all_taken
    stop_receiver

    receive $spoilt
    scenario '[[event]]' 'kind = "corrupt"' 'every = 1' > /out/$spoilt.toml
    roce-sniff craft -q /out/$spoilt.toml -o /out/$spoilt.pcap
    ok "spoilt, $family: send" send_to_rxe1 /out/$spoilt.toml
    ok "spoilt, $family: the kernel takes none of them" none_taken
    ok "spoilt, $family: nor does the queue pair" rc 0 test "$(wc -l < /out/$spoilt.received)" = 1
    cp /out/$spoilt.received /out/$mended.received
    ok "mended, $family: rewrite" roce-sniff rewrite /out/$spoilt.pcap -o /out/$mended.pcap --fix-icrc
    ok "mended, $family: send" send_to_rxe1 /out/$mended.pcap
    ok "mended, $family: the kernel takes all of them" all_taken
    cp /out/$spoilt.received /out/$mended.received
    ok "mended, $family: byte for byte" received $mended 26
    stop_receiver
done

# A real capture, rewritten for a live queue pair: another sender, another receiver, another way. Its
# last frame goes to a queue pair that does not exist.
desc "UD SENDs"; cap_start real veth0 udp port 4791
rxetool ud > /out/rxetool.txt
cap_stop
old=$(sed -nE 's/.*B qpn (0x[0-9a-f]+).*/\1/p' /out/rxetool.txt | head -1)
port=$(tcpdump -r /out/real.pcap -nn -t 2>/dev/null | sed -nE '1s/^IP [0-9.]+\.([0-9]+) > .*/\1/p')
(qpn=$old; expected /out/real.pcap) > /out/real.expected
payloads() { cut -d' ' -f2,4 "$1"; }
good() { roce-sniff "$1" --format json | tr -d ' \n' | tee /dev/stderr | grep -E '"bad":0,"ok":[1-9][0-9]*,"unchecked":0' > /dev/null; }
# rewrite NAME IN OPTION...
rewrite() {
    local name=$1 in=$2; shift 2
    ok "rewritten, $name: rewrite" roce-sniff rewrite /out/$in.pcap -o /out/$name.pcap "$@"
    ok "rewritten, $name: every ICRC is right" good /out/$name.pcap
}
accepted() {                    # accepted NAME: the kernel takes what was rewritten
    ok "rewritten, $1: send" send_to_rxe1 /out/$1.pcap
    ok "rewritten, $1: a live queue pair receives all, byte for byte" received $1 12
    ok "rewritten, $1: with the payloads of the capture" \
        diff <(payloads /out/real.expected) <(payloads /out/$1.got)
    stop_receiver
}
from_ext="--map-ip $A4=$X4 --map-mac $MAC0=$MAC2"

receive marked
rewrite marked real $from_ext --map-qpn $B4:$old=$qpn --map-udp-port $port=50000 --dscp 46 --ecn ect1
accepted marked

receive over-ipv6
rewrite converted real $from_ext --map-qpn $B4:$old=$qpn --convert v2-ipv6
rewrite over-ipv6 converted --map-ip fd00::$B4=$B6 --map-ip fd00::$X4=$X6
accepted over-ipv6

echo 1 > /proc/sys/net/ipv4/conf/default/accept_local
ip link add link veth1 name veth1.5 type vlan id 5
ip addr add 10.77.5.2/24 dev veth1.5; ip link set veth1.5 up
for i in {1..50}; do gid_index rxe1 10.77.5.2 > /dev/null && break; sleep 0.1; done
receive tagged
rewrite tagged real $from_ext --map-ip $B4=10.77.5.2 --map-qpn $B4:$old=$qpn --add-vlan 5:3
accepted tagged
ip link del veth1.5

# The kernel's connection manager answers crafted requests.
# field MESSAGE FROM KEY: of the first such message in the capture.
field() {
    roce-sniff packets /out/$exchange.pcap --format json | grep -F "\"src\":\"$2\"" |
        grep -oE "\"message\":\"$1\".*" | grep -oE "\"$3\":[0-9]+" | head -1 | tr -dc 0-9
}
# answered REQUEST ANSWER KEY KEY: by the second key of the answer to the first of the request.
answered() {
    local asked=$(field $1 $x $3) to=$(field $2 $b $4)
    echo "$1 from $x has $asked, $2 from $b has $to"; [ -n "$asked" ] && [ "$asked" = "$to" ]
}
# ask NAME SERVICE: sends the first message of an exchange and captures the answer.
ask() {
    exchange=$1 qpn=0x1234
    { scenario | sed '/^\[\[connection.op/,$d; s/^service.*/service = "'$2'"/'
      printf '%s\n' '[connection.cm]' 'answer = "silence"' 'retries = 0'; } > /out/$exchange.toml
    ip netns exec ext tcpdump -i veth2 -U -w /out/$exchange.pcap udp port 4791 2> /out/$exchange.tcpdump & dump=$!
    until_says 'listening on' /out/$exchange.tcpdump
    ok "$exchange: send" ext roce-sniff send /out/$exchange.toml -i veth2 -c 1
    sleep 1; kill $dump; wait $dump || true
}
for family in v4 v6; do
    case $family in v4) b=$B4 x=$X4 ;; v6) b=$B6 x=$X6 ;; esac
    ask refused-$family rc
    ok "$exchange: REJ answers the REQ" answered REQ REJ local_comm_id remote_comm_id
    rping -s -a $b -C 10 > /dev/null 2>&1 & server=$!; sleep 1
    ask taken-$family rc
    ok "$exchange: REP answers the REQ" answered REQ REP local_comm_id remote_comm_id
    kill $server 2>/dev/null || true; wait $server 2>/dev/null || true
    ask resolved-$family ud
    ok "$exchange: SIDR_REP answers the SIDR_REQ" answered SIDR_REQ SIDR_REP request_id request_id
done
echo done >> $checks
