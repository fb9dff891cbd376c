// SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later
/*
 * The backend over generic netlink, for the module.
 *
 * A dump is read to its end before anything is handed on: it can be repeated if the kernel says
 * that the table changed meanwhile, and the receiver may use the handle.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../../include/mlcc/uapi/mlcc_netlink.h"
#include "../common/auto.h"
#include "internal.h"

#define BUFFER		32768
#define DUMP_TRIES	8
#define ERRNO_MAX	4095		/* the kernel's MAX_ERRNO */

struct netlink {
	struct mnl_socket *s;
	uint16_t family;
	uint32_t seq, port;
	bool changed;			/* while it was dumped */
	_Alignas(struct nlmsghdr) char buf[BUFFER];
	_Alignas(struct nlmsghdr) char out[1024];
};

/* What a dump brought, and how large one of them is. */
struct list {
	char *mem;
	size_t size, count;
	void (*fill)(const struct nlattr *nest, void *one);
};

typedef int (*reply_fn)(const struct nlmsghdr *nlh, void *arg);

/*** Where attributes belong in libmlcc.h's structs ***/

struct field {
	uint16_t type;			/* 0: the end */
	enum { U32, U64, TEXT, FLAG } kind;
	size_t offset, size;
};

#define FIELD(type, kind, of, member) \
	{ type, kind, offsetof(struct of, member), sizeof(((struct of *)0)->member) }

static const struct field job_conf_fields[] = {
	FIELD(MLCC_JOB_ID, U32, mlcc_job_conf, id),
	FIELD(MLCC_JOB_NAME, TEXT, mlcc_job_conf, name),
	FIELD(MLCC_JOB_PROFILE, TEXT, mlcc_job_conf, profile),
	FIELD(MLCC_JOB_PHASE_BYTES, U64, mlcc_job_conf, phase_bytes),
	FIELD(MLCC_JOB_CLASS, TEXT, mlcc_job_conf, job_class),
	{}
};

/* But for its conf. */
static const struct field job_info_fields[] = {
	FIELD(MLCC_JOB_FLOWS, U32, mlcc_job_info, flows),
	FIELD(MLCC_JOB_PHASES, U32, mlcc_job_info, phases),
	FIELD(MLCC_JOB_D_SENT, U64, mlcc_job_info, d_sent),
	FIELD(MLCC_JOB_D_PHASE, U64, mlcc_job_info, d_phase),
	FIELD(MLCC_JOB_D_LEARNT, U64, mlcc_job_info, d_learnt),
	FIELD(MLCC_JOB_HITS, U32, mlcc_job_info, hits),
	FIELD(MLCC_JOB_PROGRESS, U32, mlcc_job_info, progress),
	FIELD(MLCC_JOB_GAIN, U32, mlcc_job_info, gain),
	FIELD(MLCC_JOB_ITERATION_US, U32, mlcc_job_info, iteration_us),
	FIELD(MLCC_JOB_COMM_US, U32, mlcc_job_info, comm_us),
	FIELD(MLCC_JOB_BEST_US, U32, mlcc_job_info, best_us),
	FIELD(MLCC_JOB_BYTES, U64, mlcc_job_info, bytes),
	FIELD(MLCC_JOB_RETRANS, U64, mlcc_job_info, retrans),
	FIELD(MLCC_JOB_CE, U64, mlcc_job_info, ce),
	FIELD(MLCC_JOB_HINTED, FLAG, mlcc_job_info, hinted),
	{}
};

static const struct field profile_conf_fields[] = {
	FIELD(MLCC_PROFILE_ATTR_NAME, TEXT, mlcc_profile_conf, name),
	FIELD(MLCC_PROFILE_ATTR_FLOOR, U32, mlcc_profile_conf, floor),
	FIELD(MLCC_PROFILE_ATTR_SLOPE, U32, mlcc_profile_conf, slope),
	FIELD(MLCC_PROFILE_ATTR_HOLD, U32, mlcc_profile_conf, hold),
	FIELD(MLCC_PROFILE_ATTR_SHAPE, U32, mlcc_profile_conf, shape),
	FIELD(MLCC_PROFILE_ATTR_BASE, TEXT, mlcc_profile_conf, base),
	FIELD(MLCC_PROFILE_ATTR_RESTART, TEXT, mlcc_profile_conf, restart),
	FIELD(MLCC_PROFILE_ATTR_DEFAULT, FLAG, mlcc_profile_conf, is_default),
	{}
};

static const struct field answer_conf_fields[] = {
	FIELD(MLCC_ANSWER_ID, U32, mlcc_answer_conf, id),
	FIELD(MLCC_ANSWER_PROGRESS, U32, mlcc_answer_conf, progress),
	FIELD(MLCC_ANSWER_BEST_US, U32, mlcc_answer_conf, best_us),
	FIELD(MLCC_ANSWER_GAP_US, U32, mlcc_answer_conf, gap_us),
	FIELD(MLCC_ANSWER_AGE_US, U32, mlcc_answer_conf, age_us),
	{}
};

/*** Messages ***/

static struct nlmsghdr *request(struct mlcc *m, uint16_t type, uint16_t flags, uint8_t cmd,
				uint8_t version)
{
	struct netlink *n = m->priv;
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(n->out);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	nlh->nlmsg_seq = ++n->seq;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = version;
	return nlh;
}

static struct nlmsghdr *mlcc_request(struct mlcc *m, uint8_t cmd, uint16_t flags)
{
	struct netlink *n = m->priv;

	return request(m, n->family, flags, cmd, MLCC_GENL_VERSION);
}

/* The kernel's own words, behind the error. */
static const char *extack(const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
	size_t off = sizeof(*err);
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return NULL;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		off += err->msg.nlmsg_len - sizeof(err->msg);
	if (mnl_nlmsg_get_payload_len(nlh) < off)
		return NULL;
	mnl_attr_for_each(attr, nlh, off)
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
		    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			return mnl_attr_get_str(attr);
	return NULL;
}

static int ended(struct mlcc *m, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
	const char *text;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(err->error))
		return mlcc_fail(m->error, -EBADMSG, "netlink: a reply that is too short");
	if (!err->error)
		return 0;
	if (err->error > 0 || err->error < -ERRNO_MAX)
		return mlcc_fail(m->error, -EBADMSG, "netlink: error %d, which is none",
				 err->error);
	text = nlh->nlmsg_type == NLMSG_ERROR ? extack(nlh) : NULL;
	/* the module always says why; who does not is the core, that has no such family any more */
	if (err->error == -ENOENT && !text)
		return mlcc_fail(m->error, -ENODEV, "the module is not loaded any more");
	if (text)
		return mlcc_fail(m->error, err->error, "%s", text);
	return mlcc_fail(m->error, err->error, "netlink: %s", strerror(-err->error));
}

/* 1: there is more to come, else as the call returns. */
static int one_message(struct mlcc *m, const struct nlmsghdr *nlh, reply_fn reply, void *arg)
{
	struct netlink *n = m->priv;

	if (nlh->nlmsg_seq != n->seq || nlh->nlmsg_pid != n->port)
		return 1;
	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		n->changed = true;
	if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE)
		return ended(m, nlh);
	if (nlh->nlmsg_type < NLMSG_MIN_TYPE || !reply)
		return 1;
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(struct genlmsghdr) || reply(nlh, arg))
		return mlcc_fail(m->error, -EBADMSG, "netlink: a reply that makes no sense");
	return 1;
}

/* libmnl takes a length of more than 2^31 for a negative one, which is less than what is left. */
static bool message_ok(const struct nlmsghdr *nlh, int len)
{
	return mnl_nlmsg_ok(nlh, len) && nlh->nlmsg_len <= (uint32_t)len;
}

/* Sends what request() made, hands the replies to @reply, returns what the acknowledgement says. */
static int talk(struct mlcc *m, struct nlmsghdr *nlh, reply_fn reply, void *arg)
{
	struct netlink *n = m->priv;
	int ret = 1, len;

	if (mnl_socket_sendto(n->s, nlh, nlh->nlmsg_len) < 0)
		return mlcc_fail(m->error, -errno, "netlink: %s", strerror(errno));
	while (ret == 1) {
		len = mnl_socket_recvfrom(n->s, n->buf, sizeof(n->buf));
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return mlcc_fail(m->error, -errno, "netlink: %s", strerror(errno));
		for (nlh = (struct nlmsghdr *)n->buf; ret == 1 && message_ok(nlh, len);
		     nlh = mnl_nlmsg_next(nlh, &len))
			ret = one_message(m, nlh, reply, arg);
	}
	return ret;
}

/*** Attributes ***/

/* What is not of the type it should be stays 0. */
static void get_field(const struct nlattr *a, const struct field *f, char *to)
{
	uint32_t u32;
	uint64_t u64;

	if (f->kind == TEXT && mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0) {
		snprintf(to, f->size, "%s", mnl_attr_get_str(a));
	} else if (f->kind == U32 && mnl_attr_validate(a, MNL_TYPE_U32) >= 0) {
		u32 = mnl_attr_get_u32(a);
		memcpy(to, &u32, sizeof(u32));
	} else if (f->kind == U64 && mnl_attr_validate(a, MNL_TYPE_U64) >= 0) {
		u64 = mnl_attr_get_u64(a);
		memcpy(to, &u64, sizeof(u64));
	} else if (f->kind == FLAG) {
		*(bool *)to = true;
	}
}

/* An attribute that is not listed is newer than this library. */
static void get_fields(const struct nlattr *nest, const struct field *f, void *to)
{
	const struct nlattr *a;

	for (; f->type; f++)
		mnl_attr_for_each_nested(a, nest)
			if (mnl_attr_get_type(a) == f->type)
				get_field(a, f, (char *)to + f->offset);
}

static void put_field(struct nlmsghdr *nlh, const struct field *f, const char *from)
{
	switch (f->kind) {
	case TEXT:
		mnl_attr_put_strz(nlh, f->type, from);
		break;
	case FLAG:
		mnl_attr_put(nlh, f->type, 0, NULL);
		break;
	default:
		mnl_attr_put(nlh, f->type, f->size, from);
	}
}

/* A flag is there or not; @all: other attributes are there though they are 0 or empty. */
static void put_fields(struct nlmsghdr *nlh, const struct field *f, const void *of, bool all)
{
	static const char nothing[sizeof(uint64_t)];

	for (; f->type; f++) {
		const char *from = (const char *)of + f->offset;

		if ((all && f->kind != FLAG) ||
		    memcmp(from, nothing, f->kind == TEXT ? 1 : f->size))
			put_field(nlh, f, from);
	}
}

static bool has(const struct nlattr *nest, uint16_t type)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, nest)
		if (mnl_attr_get_type(a) == type)
			return true;
	return false;
}

static void fill_job(const struct nlattr *nest, void *one)
{
	struct mlcc_job_info *i = one;

	memset(i, 0, sizeof(*i));
	strcpy(i->conf.job_class, "training");	/* unless it says another one */
	get_fields(nest, job_conf_fields, &i->conf);
	get_fields(nest, job_info_fields, i);
	i->neutral = !has(nest, MLCC_JOB_PROGRESS);
}

static void fill_profile(const struct nlattr *nest, void *one)
{
	memset(one, 0, sizeof(struct mlcc_profile_conf));
	get_fields(nest, profile_conf_fields, one);
}

/* The nest with the job or the profile is the only one in a reply. */
static int list_add(const struct nlmsghdr *nlh, void *arg)
{
	struct list *l = arg;
	const struct nlattr *a;
	char *more;

	mnl_attr_for_each(a, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_validate(a, MNL_TYPE_NESTED) < 0)
			return -1;
		more = grow(l->mem, l->count, l->size);
		if (!more)
			return -1;
		l->mem = more;
		l->fill(a, l->mem + l->size * l->count++);
	}
	return 0;
}

static int dump(struct mlcc *m, uint8_t cmd, struct list *l)
{
	struct netlink *n = m->priv;
	int err = 0;

	for (int i = 0; i < DUMP_TRIES; i++) {
		n->changed = false;
		l->count = 0;
		err = talk(m, mlcc_request(m, cmd, NLM_F_DUMP), list_add, l);
		if (err || !n->changed)
			break;
	}
	return err;
}

/* One job or profile into @one; the request is there but for its end. */
static int get_one(struct mlcc *m, struct nlmsghdr *nlh, struct list *l, void *one)
{
	int err = talk(m, nlh, list_add, l);

	if (!err && l->count != 1)
		err = mlcc_fail(m->error, -EBADMSG, "netlink: one reply is wanted, %zu came",
				l->count);
	if (!err)
		memcpy(one, l->mem, l->size);
	free(l->mem);
	return err;
}

/*** Opening ***/

/* One family of all: the module's, or another's. */
static int family_reply(const struct nlmsghdr *nlh, void *arg)
{
	uint16_t *family = arg, id = 0;
	const struct nlattr *a;
	bool ours = false;

	mnl_attr_for_each(a, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(a) == CTRL_ATTR_FAMILY_ID &&
		    mnl_attr_validate(a, MNL_TYPE_U16) >= 0)
			id = mnl_attr_get_u16(a);
		else if (mnl_attr_get_type(a) == CTRL_ATTR_FAMILY_NAME &&
			 mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
			ours = !strcmp(mnl_attr_get_str(a), MLCC_GENL_NAME);
	}
	if (ours)
		*family = id;
	return 0;
}

/* Who asks for a family by its name that is not there waits for modprobe(8), which the kernel runs. */
static int find_family(struct mlcc *m)
{
	struct netlink *n = m->priv;
	int err = talk(m, request(m, GENL_ID_CTRL, NLM_F_DUMP, CTRL_CMD_GETFAMILY, 1),
		       family_reply, &n->family);

	if (!err && !n->family)
		return mlcc_fail(m->error, -ENODEV, "the module is not loaded");
	return err;
}

static void netlink_close(struct mlcc *m)
{
	struct netlink *n = m->priv;

	if (n && n->s)
		mnl_socket_close(n->s);
	free(n);
	m->priv = NULL;
}

static int netlink_open(struct mlcc *m)
{
	struct netlink *n = calloc(1, sizeof(*n));
	int one = 1, err;

	m->priv = n;
	if (!n)
		return mlcc_fail(m->error, -ENOMEM, "no memory");
	n->s = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!n->s || mnl_socket_bind(n->s, 0, MNL_SOCKET_AUTOPID) < 0) {
		err = mlcc_fail(m->error, -errno, "netlink: %s", strerror(errno));
		netlink_close(m);
		return err;
	}
	n->port = mnl_socket_get_portid(n->s);
	n->seq = time(NULL);
	/* better words and stricter checks, where the kernel has them */
	mnl_socket_setsockopt(n->s, NETLINK_EXT_ACK, &one, sizeof(one));
	mnl_socket_setsockopt(n->s, NETLINK_CAP_ACK, &one, sizeof(one));
	mnl_socket_setsockopt(n->s, NETLINK_GET_STRICT_CHK, &one, sizeof(one));
	err = find_family(m);
	if (err)
		netlink_close(m);
	return err;
}

/*** Jobs ***/

/* With one nest; @all as for put_fields(). */
static struct nlmsghdr *nest_request(struct mlcc *m, uint8_t cmd, uint16_t type,
				     const struct field *f, const void *of, bool all)
{
	struct nlmsghdr *nlh = mlcc_request(m, cmd, 0);
	struct nlattr *nest = mnl_attr_nest_start(nlh, type);

	put_fields(nlh, f, of, all);
	mnl_attr_nest_end(nlh, nest);
	return nlh;
}

static struct nlmsghdr *job_conf_request(struct mlcc *m, uint8_t cmd,
					 const struct mlcc_job_conf *conf)
{
	return nest_request(m, cmd, MLCC_ATTR_JOB, job_conf_fields, conf, false);
}

static int netlink_job_set(struct mlcc *m, const struct mlcc_job_conf *conf, bool create)
{
	uint8_t cmd = create ? MLCC_CMD_JOB_NEW : MLCC_CMD_JOB_SET;

	return talk(m, job_conf_request(m, cmd, conf), NULL, NULL);
}

/* A request with the job's id, and its phase's bytes unless that is 0. */
static struct nlmsghdr *job_request(struct mlcc *m, uint8_t cmd, uint32_t id, uint64_t bytes)
{
	const struct mlcc_job_conf conf = { .id = id, .phase_bytes = bytes };

	return job_conf_request(m, cmd, &conf);
}

static int job_del(struct mlcc *m, uint32_t id)
{
	return talk(m, job_request(m, MLCC_CMD_JOB_DEL, id, 0), NULL, NULL);
}

static int job_get(struct mlcc *m, uint32_t id, struct mlcc_job_info *info)
{
	struct list l = { .size = sizeof(*info), .fill = fill_job };

	return get_one(m, job_request(m, MLCC_CMD_JOB_GET, id, 0), &l, info);
}

static int job_each(struct mlcc *m, int (*each)(const struct mlcc_job_info *info, void *arg),
		    void *arg)
{
	struct list l = { .size = sizeof(struct mlcc_job_info), .fill = fill_job };
	int ret = dump(m, MLCC_CMD_JOB_GET, &l);

	for (size_t i = 0; !ret && i < l.count; i++)
		ret = each((struct mlcc_job_info *)l.mem + i, arg);
	free(l.mem);
	return ret;
}

static int phase_start(struct mlcc *m, uint32_t id, uint64_t bytes)
{
	return talk(m, job_request(m, MLCC_CMD_PHASE_START, id, bytes), NULL, NULL);
}

static int phase_end(struct mlcc *m, uint32_t id)
{
	return talk(m, job_request(m, MLCC_CMD_PHASE_END, id, 0), NULL, NULL);
}

static int netlink_job_hear(struct mlcc *m, const struct mlcc_answer_conf *answer)
{
	return talk(m, nest_request(m, MLCC_CMD_JOB_HEAR, MLCC_ATTR_ANSWER, answer_conf_fields,
				    answer, true), NULL, NULL);
}

/*** Profiles ***/

static int profile_get(struct mlcc *m, const char *name, struct mlcc_profile_conf *conf)
{
	struct list l = { .size = sizeof(*conf), .fill = fill_profile };
	struct nlmsghdr *nlh = mlcc_request(m, MLCC_CMD_PROFILE_GET, 0);
	struct nlattr *nest = mnl_attr_nest_start(nlh, MLCC_ATTR_PROFILE);

	mnl_attr_put_strz(nlh, MLCC_PROFILE_ATTR_NAME, name);
	mnl_attr_nest_end(nlh, nest);
	return get_one(m, nlh, &l, conf);
}

static int profile_each(struct mlcc *m,
			int (*each)(const struct mlcc_profile_conf *conf, void *arg), void *arg)
{
	struct list l = { .size = sizeof(struct mlcc_profile_conf), .fill = fill_profile };
	int ret = dump(m, MLCC_CMD_PROFILE_GET, &l);

	for (size_t i = 0; !ret && i < l.count; i++)
		ret = each((struct mlcc_profile_conf *)l.mem + i, arg);
	free(l.mem);
	return ret;
}

static int netlink_profile_set(struct mlcc *m, const struct mlcc_profile_conf *p)
{
	return talk(m, nest_request(m, MLCC_CMD_PROFILE_SET, MLCC_ATTR_PROFILE,
				    profile_conf_fields, p, true), NULL, NULL);
}

const struct mlcc_backend mlcc_backend_netlink = {
	.carrier = MLCC_CARRIER_MODULE,
	.open = netlink_open,
	.close = netlink_close,
	.job_set = netlink_job_set,
	.job_del = job_del,
	.job_get = job_get,
	.job_each = job_each,
	.phase_start = phase_start,
	.phase_end = phase_end,
	.job_hear = netlink_job_hear,
	.profile_get = profile_get,
	.profile_each = profile_each,
	.profile_set = netlink_profile_set,
};
