package mgmt

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/logpipe"
	"github.com/sluicelb/sluice/mgmt/syslog"
)

// hearOthers sends the logs of supervisor, engine and netd to remote syslog and keeps their
// ends for support archives, until ctx ends. Earlier lines wait in the pipes.
func (m *manager) hearOthers(ctx context.Context) {
	var all sync.WaitGroup
	for _, of := range supervisor.LogPipesOf {
		f, err := m.File(supervisor.ReadLogPipe(of))
		if err != nil {
			slog.Warn("what others log stays here", "of", of, "error", err)
			continue
		}
		to := syslog.Log{To: m.remote, Role: of}
		all.Go(func() {
			err := logpipe.Read(ctx, f, func(r logpipe.Record) {
				m.keepLine(of, r)
				if to.Active() {
					to.Take(r)
				}
			})
			if err != nil && ctx.Err() == nil {
				slog.Warn("what others log is not heard any more", "of", of, "error", err)
			}
		})
	}
	all.Wait()
}

// keepLine keeps a line for support archives.
func (m *manager) keepLine(of string, r logpipe.Record) {
	_, _ = m.others.Write([]byte(r.Time.UTC().Format(time.RFC3339Nano) + " " + of + " " + r.Level.String() + " " + r.Text + "\n")) // writes to memory do not fail
}
