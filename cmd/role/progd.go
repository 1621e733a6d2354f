package role

import (
	"context"
	"log/slog"
	"os"
	"strconv"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/mgmt/packages"
	"github.com/sluicelb/sluice/mgmt/probe/program"
	"github.com/sluicelb/sluice/sysnet/programs"
)

// programsFolder is where each program gets a folder of its own.
const programsFolder = "/tmp"

// sandbox is what programs of operators may do.
func sandbox() *harden.ProgramSandbox {
	return &harden.ProgramSandbox{Own: firstBox() != 0, Temporary: programsFolder, Data: os.Getenv(supervisor.DataVariable)}
}

// firstBox is the first uid of programs, 0 if they have none of their own.
func firstBox() uint32 {
	n, err := strconv.ParseUint(os.Getenv(supervisor.BoxVariable), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// progd starts programs for mgmt, each in a sandbox of its own.
func (p *process) progd(ctx context.Context, s *harden.ProgramSandbox) error {
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
	if err := p.ready(); err != nil {
		return err
	}
	return programs.Serve(ctx, conn, programs.Options{Boxes: boxes, Folders: program.Plugins, Programs: []string{packages.Program}, Log: slog.Default()})
}
