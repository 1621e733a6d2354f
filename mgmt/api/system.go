package api

import (
	"os"
	"runtime"
	"strings"
	"time"
)

// VersionView is the answer about versions.
type VersionView struct {
	Kernel    string `json:"kernel_version"`
	Sluice    string `json:"sluice_version"`
	Family    string `json:"zevenet_version" doc:"The same, under the key clients of the family read"`
	Hostname  string `json:"hostname"`
	Date      string `json:"system_date"`
	Appliance string `json:"appliance_version"`
}

func (s *Server) version(c *call) (Object[VersionView], error) {
	return Object[VersionView]{Description: "Get version", Params: s.versions()}, nil
}

func (s *Server) versions() VersionView {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // unknown is shown as empty
	host, _ := os.Hostname()
	return VersionView{
		Kernel: strings.TrimSpace(string(kernel)), Sluice: s.deps.Version, Family: s.deps.Version, Hostname: host,
		Date: s.deps.Now().Format(time.ANSIC), Appliance: "Sluice " + s.deps.Version,
	}
}

// InfoView is what clients adapt to: versions, and who they are.
type InfoView struct {
	VersionView
	User      string   `json:"user"`
	Supported []string `json:"supported_zapi_versions" doc:"Generations of the API that are served"`
	Last      string   `json:"last_zapi_version"`
	Edition   string   `json:"edition" enum:"enterprise,community"`
	Language  string   `json:"language"`
	Platform  string   `json:"platform"`
}

func (s *Server) info(c *call) (Object[InfoView], error) {
	return Object[InfoView]{Description: c.op.summary, Params: InfoView{
		VersionView: s.versions(), User: c.by.Who.Name(), Supported: generations(), Last: lastGeneration, Edition: "enterprise", Language: "en", Platform: runtime.GOARCH,
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
	if s.deps.Applier.InSync() {
		out.Settled = "true"
	}
	if s.deps.Roles != nil {
		out.Roles = append(out.Roles, s.deps.Roles()...)
	}
	farms := c.farms()
	for i := range farms {
		f := &farms[i]
		out.Farms = append(out.Farms, s.farmLine(f))
	}
	return Object[StatusView]{Description: c.op.summary, Params: out}, nil
}
