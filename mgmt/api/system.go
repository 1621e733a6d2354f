package api

import (
	"os"
	"strings"
	"time"
)

// VersionView is the answer about versions.
type VersionView struct {
	Kernel    string `json:"kernel_version"`
	Sluice    string `json:"sluice_version"`
	Hostname  string `json:"hostname"`
	Date      string `json:"system_date"`
	Appliance string `json:"appliance_version"`
}

func (s *Server) version(c *call) (Object[VersionView], error) {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // unknown is shown as empty
	host, _ := os.Hostname()
	return Object[VersionView]{Description: "Get version", Params: VersionView{
		Kernel: strings.TrimSpace(string(kernel)), Sluice: s.deps.Version, Hostname: host,
		Date: s.deps.Now().Format(time.ANSIC), Appliance: "Sluice " + s.deps.Version,
	}}, nil
}

// StatusView is the state of the whole appliance.
type StatusView struct {
	Version  string     `json:"version"`
	Started  time.Time  `json:"started" doc:"When mgmt was started"`
	Revision uint64     `json:"revision" doc:"Revision of the stored configuration"`
	Settled  string     `json:"settled" enum:"true,false" doc:"Whether the engine runs that revision"`
	Engine   Engine     `json:"engine"`
	Roles    []Role     `json:"roles"`
	Farms    []FarmLine `json:"farms"`
}

func (s *Server) applianceStatus(c *call) (Object[StatusView], error) {
	out := StatusView{
		Version: s.deps.Version, Started: s.started, Revision: c.revision, Settled: "false",
		Engine: s.deps.Engine(), Roles: []Role{}, Farms: []FarmLine{},
	}
	if s.deps.Applier.Settled() {
		out.Settled = "true"
	}
	if s.deps.Roles != nil {
		out.Roles = append(out.Roles, s.deps.Roles()...)
	}
	for i := range c.cfg.Farms {
		f := &c.cfg.Farms[i]
		out.Farms = append(out.Farms, s.farmLine(f))
	}
	return Object[StatusView]{Description: c.op.summary, Params: out}, nil
}
