package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/snapshot"
)

// Heartbeat proves to the supervisor, until ctx ends, that the process and each of its loops
// are alive. It asks the loops every supervisor.AskEvery, and they answer on the control
// page. An idle engine is woken only that often: once a second for the question and once per
// loop. No further question is sent to a loop that still owes an answer; its late answer
// counts for the latest question.
func Heartbeat(ctx context.Context, page *snapshot.Page, loops []*loop.Loop) {
	asked := make([]atomic.Bool, len(loops)) // without an answer so far
	t := time.NewTicker(supervisor.AskEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		page.Ask()
		for i, l := range loops {
			if asked[i].CompareAndSwap(false, true) {
				l.Post(func() { asked[i].Store(false); page.Answer(i) })
			}
		}
	}
}
