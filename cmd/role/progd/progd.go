// Package progd is the role that starts programs of operators: check plugins, hooks, scripts
// and apt.
package progd

import (
	"context"
	"log/slog"
	"os"
	"strconv"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/role/process"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/mgmt/packages"
	"github.com/sluicelb/sluice/mgmt/probe/program"
	"github.com/sluicelb/sluice/sysnet/programs"
)

// programsFolder holds a separate directory for each program.
const programsFolder = "/tmp"

// Sandbox returns the restrictions of operators' programs.
func Sandbox() *harden.ProgramSandbox {
	return &harden.ProgramSandbox{Own: firstBox() != 0, Temporary: programsFolder, Data: os.Getenv(supervisor.DataVariable)}
}

// firstBox returns the first uid of programs, or 0 if they have none of their own.
func firstBox() uint32 {
	n, err := strconv.ParseUint(os.Getenv(supervisor.BoxVariable), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// Run starts programs for mgmt, each in its own sandbox, until ctx ends.
func Run(ctx context.Context, p *process.Process, s *harden.ProgramSandbox) error {
	conn, err := p.UnixConn("programs")
	if err != nil {
		return err
	}
	first := firstBox()
	watch := programs.NewWatch(programs.Limits{Memory: harden.ProgramMemory, Processes: harden.ProgramProcesses, Files: harden.ProgramFiles})
	var boxes []*programs.Box
	for i := range uint32(supervisor.Boxes) {
		b := &programs.Box{Temporary: s.Temporary, Confine: s.Thread, Watch: watch, Log: slog.Default()}
		if s.Own {
			b.UID, b.GID = first+i, first+i
		}
		boxes = append(boxes, b)
	}
	if err := p.Ready(); err != nil {
		return err
	}
	return programs.Serve(ctx, conn, programs.Options{Boxes: boxes, Folders: program.Plugins, Programs: []string{packages.Program}, Log: slog.Default()})
}
