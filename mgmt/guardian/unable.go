package guardian

import (
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// word returns the state of the task's backends for the health table: its verdict, or
// Unable if this machine cannot find one.
func (t *task) word() health.State {
	if t.verdict == health.Undefined && t.unable != "" {
		return health.Unable
	}
	return t.verdict
}

// cannotAsk handles the result of a probe that could not be sent. The verdict stays: the
// state of this machine says nothing about a backend. Only an inherited one ends. Without a
// verdict the table gets Unable, so that readers do not wait forever.
func (g *Guardian) cannotAsk(t *task, now time.Time, one Result) {
	g.disinherit(t)
	if t.unable == "" {
		g.options.Log.Warn("backend cannot be asked and keeps its state", "check", t.check, "backend", addressOf(t.to), "state", t.verdict, "reason", one.Reason)
	}
	t.unable = "cannot be asked by check " + t.check + ": " + strings.TrimPrefix(one.Reason, "not asked: ")
	t.local++
	g.moved.Add(1)
	g.write(t, now)
}

// asked handles the result of a probe that could be sent.
func (g *Guardian) asked(t *task, now time.Time) {
	t.inherited = false
	if t.unable == "" {
		return
	}
	t.unable, t.local = "", 0
	g.moved.Add(1)
	g.write(t, now)
}

// write puts the word of a task into the health table.
func (g *Guardian) write(t *task, now time.Time) {
	for _, u := range t.users {
		g.options.Table.SetGuardian(u.id, t.word(), now)
	}
}

// inability returns why a task cannot find a verdict, "" if it can. A task with a verdict
// keeps it: as many results in a row must be of this kind as change a verdict.
func (t *task) inability() string {
	switch {
	case t.unable == "" || t.verdict == health.Undefined:
		return t.unable
	case t.local < t.fromNothing(false, &t.settings):
		return ""
	}
	return t.unable + "; it is still taken to be " + t.verdict.String()
}
