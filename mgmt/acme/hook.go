package acme

import (
	"context"
	"time"

	"github.com/sluicelb/sluice/mgmt/hook"
)

// hookTimeout is the time limit of a hook call.
const hookTimeout = 60 * time.Second

// recordHook is the operator program that changes TXT records. It is called as
//
//	NAME present|cleanup DOMAIN RECORD VALUE
//
// with the same values in SLUICE_ACTION, SLUICE_DOMAIN, SLUICE_RECORD and SLUICE_VALUE.
type recordHook struct {
	hook.Program
	by hook.Starter
}

// check returns the reason why the program may not be used, or nil.
func (h recordHook) check() error {
	if err := h.Check(); err != nil {
		return invalid("hook: %s", err)
	}
	return nil
}

// run calls the hook and waits at most a minute. The error contains its output for the
// operator.
func (h recordHook) run(ctx context.Context, action, domain, record, value string) error {
	if err := h.check(); err != nil {
		return err
	}
	said, err := h.Run(ctx, hook.Call{Args: []string{action, domain, record, value}, Limit: hookTimeout, By: h.by,
		Env: []string{"SLUICE_ACTION=" + action, "SLUICE_DOMAIN=" + domain, "SLUICE_RECORD=" + record, "SLUICE_VALUE=" + value}})
	if err == nil {
		return nil
	}
	if said == "" {
		return invalid("the hook %s failed at %s of %s: %s, and printed nothing", h.Name, action, record, err)
	}
	return invalid("the hook %s failed at %s of %s: %s; it printed: %s", h.Name, action, record, err, said)
}
