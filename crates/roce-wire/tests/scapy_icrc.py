"""Reads RoCE v2 frames as hex, one a line; prints the ICRC that scapy computes for each."""
import sys

from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether

for line in sys.stdin:
    bth = Ether(bytes.fromhex(line))[BTH]
    print(bth.compute_icrc(b"").hex())
