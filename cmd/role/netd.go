package role

import (
	"context"
	"log/slog"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// netd answers mgmt, and makes sockets with a mark for the engine.
func (p *process) netd(ctx context.Context) error {
	l, err := p.UnixListener("netd")
	if err != nil {
		return err
	}
	engine, err := p.UnixConn("marks")
	if err != nil {
		return err
	}
	if err := p.ready(); err != nil {
		return err
	}
	go ctl.ServeMarks(ctx, engine, slog.Default())
	return ctl.Serve(ctx, l, []uint32{uidFrom(supervisor.ManagerVariable)}, slog.Default())
}
