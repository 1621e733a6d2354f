package mgmt

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/upkeep"
	"github.com/sluicelb/sluice/mgmt/logfiles"
	"github.com/sluicelb/sluice/mgmt/support"
	"github.com/sluicelb/sluice/sysnet/addr"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// upkeepResource makes the resource of backups, support archives and event scripts.
func (m *manager) upkeepResource(host *api.Host) api.Resource {
	return upkeep.New(upkeep.Deps{
		Backups: m.backups, Support: host.Collector(m.kernel, m.support), Scripts: m.scripts, Restart: m.restart,
		Interfaces: api.Interfaces, Log: slog.Default(), Now: time.Now,
	})
}

// support returns the parts of a support archive from this process and the kernel.
func (m *manager) support() []support.Part {
	parts := append(support.Machine("/proc"), support.Process()...)
	parts = append(parts, m.said.Part("log/mgmt.txt"), m.others.Part("log/others.txt"), support.Text("log/traces.txt", m.traces), support.Text("kernel/addresses.json", addresses), support.Text("process/roles.txt", m.processes),
		doing("engine", m.publisher.Stacks), doing("netd", netdStacks))
	return append(parts, support.LogFiles(logfiles.Dir{Root: m.root})...)
}

// traces returns the last watched exchanges with the same masking as in a watch.
func (m *manager) traces() string { return string(m.logs.Traced()) }

// doingTime bounds the request for a process's stacks, because it may hang.
const doingTime = 3 * time.Second

// netdStacks uses its own connection, because netd may be busy with another request.
func netdStacks(ctx context.Context) (string, error) {
	c := ctl.NewClient(netdSocket)
	defer c.Hangup()
	return c.Stacks(ctx)
}

// doing returns the stacks of another process.
func doing(role string, ask func(context.Context) (string, error)) support.Part {
	return support.Part{Name: "process/" + role + ".txt", Write: func(ctx context.Context, w io.Writer) error {
		ctx, cancel := context.WithTimeout(ctx, doingTime)
		defer cancel()
		text, err := ask(ctx)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		return err
	}}
}

// addresses returns the addresses of this machine.
func addresses() string {
	list, err := addr.List()
	if err != nil {
		return err.Error()
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// processes returns the kernel's data about each role.
func (m *manager) processes() string {
	var out strings.Builder
	for _, r := range m.roles() {
		fmt.Fprintf(&out, "== %s, %s, started %s, %d restarts\n", r.Name, r.State, r.Started, r.Restarts)
		for _, file := range []string{"status", "stat", "wchan"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", r.PID, file))
			if err != nil {
				continue // it has ended, or is hidden
			}
			out.Write(text)
			out.WriteString("\n")
		}
	}
	return out.String()
}
