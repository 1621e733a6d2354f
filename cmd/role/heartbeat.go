package role

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/snapshot"
)

// Heartbeat shows the supervisor, until ctx ends, that the process and each of
// its loops go on: it asks the loops every supervisor.AskEvery, and each answers
// on the control page. An idle engine is woken that often and no oftener: once
// a second for the question and once for each loop. A loop that has not answered
// is not asked again: what it answers at last is the latest question.
func Heartbeat(ctx context.Context, page *snapshot.Page, loops []*loop.Loop) {
	asked := make([]atomic.Bool, len(loops)) // and has not answered
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
