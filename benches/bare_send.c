/*
 * bare_send IFACE FILE SECONDS: what a veth pair takes. Reads the frames of a pcap file (nanoseconds,
 * little-endian, at most 64 MiB) into memory and hands them to a packet socket, 64 with every
 * sendmmsg, over and over. Prints how many went and how long it took, in nanoseconds.
 */
#define _GNU_SOURCE
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH 64
#define MOST (64 << 20)

static uint8_t file[MOST];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	struct mmsghdr *messages;
	struct iovec *frames;
	FILE *in = argc == 4 ? fopen(argv[2], "rb") : NULL;
	size_t size, at, count = 0, next = 0, i;
	uint64_t start, end, sent = 0;
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (!in || fd < 0) {
		perror("bare_send IFACE FILE SECONDS");
		return 1;
	}
	to.sll_ifindex = if_nametoindex(argv[1]);
	if (bind(fd, (struct sockaddr *)&to, sizeof to)) {
		perror(argv[1]);
		return 1;
	}
	size = fread(file, 1, sizeof file, in);
	frames = calloc(size / 16 + BATCH, sizeof *frames);
	messages = calloc(size / 16 + BATCH, sizeof *messages);
	for (at = 24; at + 16 <= size; count++) {
		uint32_t length;

		memcpy(&length, file + at + 8, sizeof length);
		if (at + 16 + length > size)
			break;
		frames[count].iov_base = file + at + 16;
		frames[count].iov_len = length;
		at += 16 + length;
	}
	for (i = 0; i < count; i++) {
		messages[i].msg_hdr.msg_iov = &frames[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	start = now();
	end = start + (uint64_t)(atof(argv[3]) * 1e9);
	do {
		size_t left = count - next;
		int took = sendmmsg(fd, messages + next, left < BATCH ? left : BATCH, 0);

		if (took > 0) {
			sent += took;
			next = (next + took) % count;
		}
	} while (now() < end);
	printf("%llu %llu\n", (unsigned long long)sent, (unsigned long long)(now() - start));
	return 0;
}
