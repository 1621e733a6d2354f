package probe

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// guarded enforces the guarantees of Probe, independently of the check. The time of the
// check is limited, a panic becomes a reason, and a reason is one plain line that names the
// step.
type guarded struct {
	Probe
	name        string
	limit, slow time.Duration
	program     bool // it limits its own time and words its own reasons
	secrets     []string
}

// Run executes the probe once.
func (g *guarded) Run(ctx context.Context, n Network, to Target, say Say) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%s failed by a fault of its own: %s", g.name, Line(fmt.Sprint(broken)))
		}
	}()
	if g.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.limit)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return saidLocal("there was no time left")
	}
	at := &steps{}
	ctx = context.WithValue(ctx, stepsKey{}, at)
	began := time.Now()
	say = lines(say)
	reached := &noted{Network: n}
	err = g.Probe.Run(ctx, reached, to, say)
	took := time.Since(began)
	if err != nil {
		if ours := notAsked(ctx, n, err); ours != nil {
			return ours
		}
		if ctx.Err() != nil {
			if ours := notAsked(ctx, n, reached.failure()); ours != nil {
				return ours
			}
		}
	}
	switch {
	case err != nil && g.program:
		return errors.New(Line(err.Error()))
	case err != nil && ctx.Err() != nil && !errors.As(err, new(Strange)):
		if deadline, ok := ctx.Deadline(); ok && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			took = deadline.Sub(began)
		}
		return at.reason(nil, fmt.Sprintf("%s within %s", at.silence(), Rounded(took)), g.secrets)
	case err != nil:
		return at.reason(err, Reason(err), g.secrets)
	case g.slow > 0 && took > g.slow:
		return fmt.Errorf("answered after %s, wanted within %s", took.Round(time.Microsecond), g.slow)
	}
	return nil
}

// Rounded returns a time as it appears in reasons.
func Rounded(d time.Duration) time.Duration {
	if d >= 100*time.Millisecond {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// lines returns a Say that makes every text one plain line, since parts of it come from
// servers.
func lines(say Say) Say {
	return func(format string, args ...any) { say("%s", Line(fmt.Sprintf(format, args...))) }
}
