/*
 * ud_receiver DEVICE: a UD queue pair on a live device that shows what it receives.
 *
 * Prints "qpn N", then a line for every message: source queue pair, immediate data or "-", the 40
 * bytes in front of the message (the network header, as the verbs give it) and the message, in hex.
 * Ends on SIGTERM.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 256
#define SLOT 8192
#define GRH 40
#define Q_KEY 0x11111111

static uint8_t buf[SLOTS][SLOT];
static struct ibv_mr *mr;
static struct ibv_qp *qp;

static void need(const void *what, const char *name)
{
	if (!what) {
		perror(name);
		exit(1);
	}
}

static void post(uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)buf[slot], SLOT, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(qp, &wr, &bad)) {
		perror("ibv_post_recv");
		exit(1);
	}
}

static void hex(const uint8_t *bytes, uint32_t len)
{
	while (len--)
		printf("%02x", *bytes++);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (; list && *list; list++)
		if (!strcmp(ibv_get_device_name(*list), name))
			return ibv_open_device(*list);
	return NULL;
}

static struct ibv_cq *listen_on(struct ibv_context *device)
{
	struct ibv_pd *pd = ibv_alloc_pd(device);
	struct ibv_cq *cq = ibv_create_cq(device, SLOTS, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = SLOTS, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = Q_KEY };
	uint64_t slot;

	need(pd, "ibv_alloc_pd");
	need(cq, "ibv_create_cq");
	mr = ibv_reg_mr(pd, buf, sizeof buf, IBV_ACCESS_LOCAL_WRITE);
	need(mr, "ibv_reg_mr");
	qp = ibv_create_qp(pd, &init);
	need(qp, "ibv_create_qp");
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)) {
		perror("to INIT");
		exit(1);
	}
	for (slot = 0; slot < SLOTS; slot++)
		post(slot);
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE)) {
		perror("to RTR");
		exit(1);
	}
	return cq;
}

int main(int argc, char **argv)
{
	struct timespec nap = { 0, 2000000 };
	struct ibv_context *device = argc == 2 ? open_device(argv[1]) : NULL;
	struct ibv_cq *cq;
	struct ibv_wc wc;

	need(device, argc == 2 ? argv[1] : "usage: ud_receiver DEVICE");
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	cq = listen_on(device);
	printf("qpn %u\n", qp->qp_num);
	for (;;) {
		if (ibv_poll_cq(cq, 1, &wc) != 1) {
			nanosleep(&nap, NULL);
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS) {
			printf("failed: %s\n", ibv_wc_status_str(wc.status));
			continue;
		}
		printf("%u ", wc.src_qp);
		if (wc.wc_flags & IBV_WC_WITH_IMM)
			printf("%08x ", ntohl(wc.imm_data));
		else
			printf("- ");
		hex(buf[wc.wr_id], GRH);
		putchar(' ');
		hex(buf[wc.wr_id] + GRH, wc.byte_len - GRH);
		putchar('\n');
		post(wc.wr_id);
	}
}
