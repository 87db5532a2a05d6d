# From `tcpdump -r FILE -nn -t -xx` to what a UD queue pair shows of each frame, as ud_receiver prints
# it; by the offsets of the standard alone. -v qpn=N: only what is sent to that queue pair.
function value(text,    n, i) { n = 0; for (i = 1; i <= length(text); i++) n = n * 16 + index(digits, substr(text, i, 1)) - 1; return n }
function bytes(at, count) { return substr(frame, 2 * at + 1, 2 * count) }
function show(    ip, udp, header, bth, data, len, grh, opcode, imm) {
    if (frame == "") return
    ip = bytes(12, 2) == "8100" ? 18 : 14
    header = bytes(ip, 1) == "45" ? 20 : 40
    udp = ip + header; bth = udp + 8; data = bth + 20
    grh = bytes(ip, header)
    while (length(grh) < 80) grh = "0" grh
    opcode = bytes(bth, 1)
    imm = "-"
    if (opcode == "65") { imm = bytes(data, 4); data += 4 }
    # UDP says where the ICRC ends; pad bytes stand before it.
    len = udp + value(bytes(udp + 4, 2)) - 4 - int(value(bytes(bth + 1, 1)) / 16) % 4 - data
    if ((opcode == "64" || opcode == "65") && (qpn == "" || value(bytes(bth + 5, 3)) == qpn))
        print value(bytes(bth + 17, 3)), imm, grh, bytes(data, len)
    frame = ""
}
BEGIN { digits = "0123456789abcdef" }
/^\t0x/ { sub(/^[^:]*:/, ""); gsub(/ /, ""); frame = frame $0; next }
{ show() }
END { show() }
