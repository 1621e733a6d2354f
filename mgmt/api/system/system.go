package system

import (
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/trial"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// Role is one process of the appliance.
type Role struct {
	Name     string    `json:"name"`
	PID      int       `json:"pid"`
	State    string    `json:"state"`
	Restarts int       `json:"restarts"`
	Started  time.Time `json:"started,omitzero"`
}

// Schemas describes the objects of the configuration as JSON Schema (2020-12).
type Schemas map[string]any

// getSchema responds with the schema of all configurable objects, for programs that build
// forms or validate bodies.
func (s *Resource) getSchema(*rest.Call) (Schemas, error) { return validate.Schema(), nil }

func (s *Resource) systemOperations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Get, "/schema", rbac.Open, "Get the schema of everything that can be configured", s.getSchema),
		rest.Op(rest.Get, "/system/version", rbac.Open, "Get the versions", s.version),
		rest.Op(rest.Get, "/system/info", rbac.Open, "Get the capabilities of the API", s.info),
		rest.Op(rest.Get, "/system/global", rbac.SystemMenu, "Get the settings of the appliance", s.getGlobal).Of(s.global),
		rest.Op(rest.Post, "/system/global", rbac.SystemModify, "Change the settings of the appliance", s.setGlobal).Body(&system.Settings).Of(s.global).Outlives(),
		rest.Op(rest.Put, "/system/global", rbac.SystemModify, "Change the settings of the appliance", s.setGlobal).Body(&system.Settings).Of(s.global).Outlives(),
		rest.Op(rest.Get, "/status", rbac.SystemMenu, "Get the state of the appliance", s.applianceStatus),
	}
}

// VersionView lists versions.
type VersionView struct {
	Kernel    string `json:"kernel_version"`
	Sluice    string `json:"sluice_version"`
	Family    string `json:"zevenet_version" doc:"The same value under the key for compatible clients"`
	Hostname  string `json:"hostname"`
	Date      string `json:"system_date"`
	Appliance string `json:"appliance_version"`
}

func (s *Resource) version(c *rest.Call) (rest.Object[VersionView], error) {
	return rest.Object[VersionView]{Description: "Get version", Params: s.versions()}, nil
}

func (s *Resource) versions() VersionView {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // unknown is shown as ""
	host, _ := os.Hostname()
	return VersionView{
		Kernel: strings.TrimSpace(string(kernel)), Sluice: s.deps.Version, Family: s.deps.Version, Hostname: host,
		Date: s.deps.Now().Format(time.ANSIC), Appliance: "Sluice " + s.deps.Version,
	}
}

// InfoView holds the data to which clients adapt: versions, and the caller.
type InfoView struct {
	VersionView
	User      string   `json:"user"`
	AllFarms  string   `json:"all_farms" enum:"true,false" doc:"true if the user has access to all farms, which some operations require"`
	Supported []string `json:"supported_zapi_versions" doc:"Supported API generations"`
	Last      string   `json:"last_zapi_version"`
	Edition   string   `json:"edition" enum:"enterprise,community"`
	Language  string   `json:"language"`
	Platform  string   `json:"platform"`
	Life      int64    `json:"session_timeout" doc:"Session idle timeout, in minutes"`
}

func (s *Resource) info(c *rest.Call) (rest.Object[InfoView], error) {
	return rest.Object[InfoView]{Description: c.Summary(), Params: InfoView{
		VersionView: s.versions(), User: c.By.Who.Name(), AllFarms: rest.Truth(c.SeesAll()), Supported: s.deps.Generations, Last: s.deps.Generations[len(s.deps.Generations)-1], Edition: "enterprise", Language: s.language(), Platform: runtime.GOARCH,
		Life: int64(auth.LoadSessionTime(s.deps.Settings).Minutes()),
	}}, nil
}

// StatusView is the status of the whole appliance.
type StatusView struct {
	Version  string           `json:"version"`
	Started  time.Time        `json:"started" doc:"Start time of mgmt"`
	Revision uint64           `json:"revision" doc:"Revision of the stored configuration"`
	Settled  string           `json:"settled" enum:"true,false" doc:"true if the engine runs that revision"`
	Problems []string         `json:"problems" doc:"Problems of the appliance itself and machine settings that are not applied, with reasons"`
	Engine   state.Engine     `json:"engine"`
	Pending  *PendingChange   `json:"pending,omitempty" doc:"Change that is reverted automatically unless confirmed"`
	Roles    []Role           `json:"roles"`
	Farms    []state.FarmLine `json:"farms"`
}

// PendingChange describes a pending change in that status.
type PendingChange struct {
	Revision uint64    `json:"revision"`
	Author   string    `json:"author,omitempty" doc:"User who did it; absent, like the guard, for callers without access to all farms"`
	Until    time.Time `json:"until"`
	Left     int64     `json:"left" doc:"Remaining seconds"`
	Guard    string    `json:"guard,omitempty" doc:"Guard conditions; the guard confirms the change at the end. Absent if the change is reverted instead"`
}

func (s *Resource) pending(c *rest.Call) *PendingChange {
	p := s.deps.Applier.Pending()
	if p == nil {
		return nil
	}
	left := int64(math.Ceil(max(0, p.Until.Sub(s.deps.Now()).Seconds())))
	out := &PendingChange{Revision: p.Revision, Until: p.Until, Left: left}
	if c.SeesChange(p.By.Name) {
		out.Author, out.Guard = p.By.Name, trial.Conditions(p)
	}
	return out
}

func (s *Resource) applianceStatus(c *rest.Call) (rest.Object[StatusView], error) {
	out := StatusView{
		Version: s.deps.Version, Started: s.started, Revision: c.Revision, Settled: "false",
		Problems: []string{}, Engine: s.deps.Engine(), Pending: s.pending(c), Roles: []Role{}, Farms: []state.FarmLine{},
	}
	if s.deps.Applier.InSync() {
		out.Settled = "true"
	}
	for _, e := range s.deps.Applier.Unsettled() {
		out.Problems = append(out.Problems, e.Error())
	}
	if s.deps.Problems != nil && c.SeesAll() { // they may name objects of any farm
		out.Problems = append(out.Problems, s.deps.Problems()...)
	}
	if s.deps.Roles != nil {
		out.Roles = append(out.Roles, s.deps.Roles()...)
	}
	farms, now := c.Farms(), s.deps.State.Now(c)
	for i := range farms {
		f := &farms[i]
		out.Farms = append(out.Farms, now.Line(f))
	}
	return rest.Object[StatusView]{Description: c.Summary(), Params: out}, nil
}
