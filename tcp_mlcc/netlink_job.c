// SPDX-License-Identifier: GPL-2.0
/* Commands about jobs and their phases. */
#include <linux/ctype.h>
#include <linux/slab.h>
#include <linux/stringify.h>

#include "compat.h"
#include "control.h"
#include "job.h"
#include "netlink.h"

/* The id in @attr of a request's nest @type, which the mark has to have room for. */
static int mlcc_nl_id(const struct genl_info *info, int type, const struct nlattr *attr, u32 *id)
{
	u32 mask = mlcc_mark_mask();

	if (!attr) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[type], "the job's id is missing");
		return -EINVAL;
	}
	*id = nla_get_u32(attr);
	if (*id > mask >> __ffs(mask)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "the id is more than the mask of the mark has room for");
		return -ERANGE;
	}
	return 0;
}

static int mlcc_nl_job(const struct genl_info *info, struct nlattr **tb, u32 *id)
{
	int err;

	err = mlcc_nl_nest(info, MLCC_ATTR_JOB, tb, MLCC_JOB_MAX);
	return err ?: mlcc_nl_id(info, MLCC_ATTR_JOB, tb[MLCC_JOB_ID], id);
}

static bool mlcc_name_char(char c)
{
	return isascii(c) && (isalnum(c) || strchr("._:/@+-", c));
}

static int mlcc_nl_name(const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	const char *name = nla_data(attr);
	int err;

	err = mlcc_nl_text(attr, extack);
	if (err)
		return err;
	while (*name && mlcc_name_char(*name))
		name++;
	if (!*name && name != nla_data(attr))
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, attr, "a name is letters, digits and ._:/@+-, at least one");
	return -EINVAL;
}

/* What is not given has its default. */
static int mlcc_nl_setting(struct nlattr **tb, struct mlcc_setting *set,
			   struct netlink_ext_ack *extack)
{
	static const char *const classes[] = MLCC_CLASS_NAMES;
	int err = 0;

	set->profile = MLCC_PROFILE_NONE;
	if (tb[MLCC_JOB_NAME]) {
		err = mlcc_nl_name(tb[MLCC_JOB_NAME], extack);
		nla_strscpy(set->name, tb[MLCC_JOB_NAME], sizeof(set->name));
	}
	if (!err && tb[MLCC_JOB_PROFILE])
		err = mlcc_nl_profile(tb[MLCC_JOB_PROFILE], &set->profile, extack);
	if (tb[MLCC_JOB_PHASE_BYTES])
		set->phase_bytes = nla_get_u64(tb[MLCC_JOB_PHASE_BYTES]);
	if (!err && tb[MLCC_JOB_CLASS])
		err = mlcc_nl_word(tb[MLCC_JOB_CLASS], classes, MLCC_CLASS_COUNT, &set->class,
				   -EINVAL, "the class is " MLCC_CLASS_ALLOWED, extack);
	if (!err && set->class != MLCC_CLASS_TRAINING && set->phase_bytes) {
		NL_SET_ERR_MSG_ATTR(extack, tb[MLCC_JOB_PHASE_BYTES],
				    "only jobs of the class training have phases");
		err = -EINVAL;
	}
	return err;
}

static void mlcc_nl_explain(int err, struct netlink_ext_ack *extack)
{
	switch (err) {
	case -EEXIST:
		NL_SET_ERR_MSG(extack, "there is a job of this id already");
		break;
	case -ENOENT:
		NL_SET_ERR_MSG(extack, "there is no job of this id in this network namespace");
		break;
	case -ENOSPC:
		NL_SET_ERR_MSG(extack,
			       "no room: " __stringify(MLCC_JOBS_MAX) " jobs on a host, "
			       __stringify(MLCC_JOB_OTHERS_MAX)
			       " outside of its initial namespace");
		break;
	case -EDQUOT:
		NL_SET_ERR_MSG(extack,
			       "no room: " __stringify(MLCC_JOB_NETNS_MAX)
			       " jobs in a network namespace; of a user, in all that are his, of "
			       __stringify(MLCC_JOB_USERS_MAX) " as many as he leaves to others");
		break;
	case -ENOMEM:
		NL_SET_ERR_MSG(extack, "out of memory");
		break;
	case -EBUSY:
		NL_SET_ERR_MSG(extack, "a flow is just beginning a phase of the job: try again");
		break;
	}
}

static int mlcc_nl_job_write(struct genl_info *info, bool create)
{
	struct nlattr *tb[MLCC_JOB_MAX + 1];
	struct mlcc_setting *set;
	int err;
	u32 id;

	err = mlcc_nl_job(info, tb, &id);
	if (err)
		return err;
	set = kzalloc_obj(*set, GFP_KERNEL);
	if (!set) {
		mlcc_nl_explain(-ENOMEM, info->extack);
		return -ENOMEM;
	}
	set->id = id;
	err = mlcc_nl_setting(tb, set, info->extack);
	if (!err) {
		err = mlcc_control_set(genl_info_net(info), set, create);
		mlcc_nl_explain(err, info->extack);
	}
	if (err)
		kfree(set);
	return err;
}

int mlcc_nl_job_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	return mlcc_nl_job_write(info, true);
}

int mlcc_nl_job_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	return mlcc_nl_job_write(info, false);
}

/* A command that needs no more than the job's id. */
static int mlcc_nl_job_by_id(struct genl_info *info, int (*control)(struct net *net, u32 id))
{
	struct nlattr *tb[MLCC_JOB_MAX + 1];
	int err;
	u32 id;

	err = mlcc_nl_job(info, tb, &id);
	if (err)
		return err;
	err = control(genl_info_net(info), id);
	mlcc_nl_explain(err, info->extack);
	return err;
}

int mlcc_nl_job_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	return mlcc_nl_job_by_id(info, mlcc_control_delete);
}

int mlcc_nl_phase_start_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[MLCC_JOB_MAX + 1];
	u64 bytes = 0;
	int err;
	u32 id;

	err = mlcc_nl_job(info, tb, &id);
	if (err)
		return err;
	if (tb[MLCC_JOB_PHASE_BYTES])
		bytes = nla_get_u64(tb[MLCC_JOB_PHASE_BYTES]);
	err = mlcc_control_start(genl_info_net(info), id, bytes);
	mlcc_nl_explain(err, info->extack);
	return err;
}

int mlcc_nl_phase_end_doit(struct sk_buff *skb, struct genl_info *info)
{
	return mlcc_nl_job_by_id(info, mlcc_control_end);
}

static u32 mlcc_nl_u32(const struct nlattr *attr)
{
	return attr ? nla_get_u32(attr) : 0;
}

int mlcc_nl_job_hear_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[MLCC_ANSWER_MAX + 1];
	struct mlcc_lead_answer answer;
	int err;
	u32 id;

	err = mlcc_nl_nest(info, MLCC_ATTR_ANSWER, tb, MLCC_ANSWER_MAX);
	err = err ?: mlcc_nl_id(info, MLCC_ATTR_ANSWER, tb[MLCC_ANSWER_ID], &id);
	if (err)
		return err;
	answer = (struct mlcc_lead_answer) {
		.progress = mlcc_nl_u32(tb[MLCC_ANSWER_PROGRESS]),
		.best_us = mlcc_nl_u32(tb[MLCC_ANSWER_BEST_US]),
		.gap_us = mlcc_nl_u32(tb[MLCC_ANSWER_GAP_US]),
		.age_us = mlcc_nl_u32(tb[MLCC_ANSWER_AGE_US]),
	};
	err = mlcc_control_hear(genl_info_net(info), id, &answer);
	mlcc_nl_explain(err, info->extack);
	return err;
}

/* mlcc_nl_put.  -ENOENT: there is no such job. */
static int mlcc_put_job_id(struct sk_buff *skb, struct net *net, u32 id)
{
	const struct mlcc_setting *set;
	int err;

	rcu_read_lock();
	set = mlcc_setting_find(net->net_cookie, id);
	err = set ? mlcc_put_job(skb, set) : -ENOENT;
	rcu_read_unlock();
	return err;
}

int mlcc_nl_job_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *tb[MLCC_JOB_MAX + 1];
	int err;
	u32 id;

	err = mlcc_nl_job(info, tb, &id);
	if (err)
		return err;
	err = mlcc_nl_reply(info, MLCC_ATTR_JOB, mlcc_put_job_id, id);
	mlcc_nl_explain(err, info->extack);
	return err;
}

/* In the order of ids, so jobs that come and go meanwhile hide or repeat no other. */
int mlcc_nl_job_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	unsigned long id = cb->args[0];

	for (; mlcc_setting_next(sock_net(skb->sk), &id); id++)
		if (mlcc_nl_dump(skb, cb, MLCC_ATTR_JOB, mlcc_put_job_id, id) == -EMSGSIZE)
			break;
	cb->args[0] = id;
	return skb->len;
}
