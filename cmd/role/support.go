package role

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/sluicelb/sluice/mgmt/logfiles"
	"github.com/sluicelb/sluice/mgmt/support"
	"github.com/sluicelb/sluice/sysnet/addr"
)

// support is api.Deps.Support: what this process and the kernel tell, besides what the API does.
func (m *manager) support() []support.Part {
	parts := append(support.Machine("/proc"), support.Process()...)
	parts = append(parts, m.said.Part("log/mgmt.txt"), m.others.Part("log/others.txt"), support.Text("kernel/addresses.json", addresses), support.Text("process/roles.txt", m.processes))
	return append(parts, support.LogFiles(logfiles.Dir{Root: m.root})...)
}

// addresses are those of this machine.
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

// processes is what the kernel tells of each role.
func (m *manager) processes() string {
	var out strings.Builder
	for _, r := range m.roles() {
		fmt.Fprintf(&out, "== %s, %s, started %s, %d restarts\n", r.Name, r.State, r.Started, r.Restarts)
		for _, file := range []string{"status", "stat", "wchan"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", r.PID, file))
			if err != nil {
				continue // it ended, or is hidden
			}
			out.Write(text)
			out.WriteString("\n")
		}
	}
	return out.String()
}
