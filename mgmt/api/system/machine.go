package system

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// Machine reports the actual state of the machine. Each field may be nil: unknown.
type Machine struct {
	// NameServers returns the active name servers, and the other program that manages them
	// ("" if there is none).
	NameServers func() (list []string, managedBy string)
	// Time returns the time service and its accuracy.
	Time func(ctx context.Context) Timekeeping
	// Agent returns the state of the SNMP subagent.
	Agent func() string
	// Syslog returns the delivery to each remote syslog server.
	Syslog func() []SyslogServer
	// Serves reports whether a local program receives datagrams at an address, and whether
	// that is known.
	Serves func(at netip.AddrPort) (serves, known bool)
	// Listener returns the current network listener of the API.
	Listener func() string
}

// Timekeeping describes the time service and its accuracy.
type Timekeeping struct {
	Service      string   `json:"service" doc:"Time service: chrony or systemd-timesyncd; empty if none can be configured"`
	Synchronised string   `json:"synchronised" enum:"true,false,unknown"`
	Offset       *float64 `json:"offset,omitempty" doc:"Offset of the clock from its source, in seconds; positive if ahead"`
	Source       string   `json:"source,omitempty" doc:"Time source"`
}

// SyslogServer describes the delivery to a remote syslog server.
type SyslogServer struct {
	Server        string     `json:"server"`
	Sent          uint64     `json:"sent" doc:"Messages sent"`
	Waiting       int        `json:"waiting" doc:"Queued messages, e.g. while a server is unreachable"`
	Dropped       uint64     `json:"dropped" doc:"Messages dropped because the queue was full"`
	Reconnects    uint64     `json:"reconnects" doc:"Number of reconnects"`
	Problem       string     `json:"problem,omitempty" doc:"Reason why it does not accept messages now"`
	LastError     string     `json:"last_error,omitempty" doc:"Last error"`
	LastErrorTime *time.Time `json:"last_error_time,omitempty" doc:"Time of that event"`
}

// Unsettled describes the difference between settings and the machine.
type Unsettled struct {
	Configured string `json:"configured" enum:"up,down,unset" doc:"Configured value; unset keeps the machine's setting"`
	Actual     string `json:"actual" enum:"up,down,unknown" doc:"Actual status: up if the settings are applied, unknown if none are configured"`
	Problem    string `json:"problem,omitempty" doc:"Settings that are not applied, with reasons"`
}

func (u *Unsettled) tell(of Unsettled) { *u = of }

// settled compares the configured and the actual state of a section.
func (s *Resource) settled(of *system.Section, ordered *farm.System) Unsettled {
	out := Unsettled{Configured: order(of.Name, ordered), Actual: "unknown", Problem: s.problem(of)}
	switch {
	case out.Configured == "unset":
	case out.Problem == "":
		out.Actual = out.Configured
	case out.Configured == "up":
		out.Actual = "down"
	default:
		out.Actual = "up" // it could not be stopped
	}
	return out
}

// serves checks whether snmpd still runs as configured, as it may have ended since.
func (v *snmpView) serves(look func(netip.AddrPort) (serves, known bool), configured *farm.SNMP) {
	if !configured.On || look == nil {
		return
	}
	at := netip.AddrPortFrom(configured.EffectiveIP(), configured.EffectivePort())
	serves, known := look(at)
	if !known || serves {
		return
	}
	v.Actual = "down"
	if v.Problem == "" {
		v.Problem = fmt.Sprintf("nothing listens on udp %s: look whether snmpd runs (systemctl status snmpd)", at)
	}
}

// order returns the configured state of a section.
func order(section string, of *farm.System) string {
	on := false
	switch section {
	case "snmp":
		if !of.SNMP.On {
			return "down"
		}
		on = true
	case "http":
		on = true // it listens, as it handles this request
	case "dns":
		on = of.DNS != farm.DNS{}
	case "ntp":
		on = of.NTP != farm.NTP{}
	case "ssh":
		on = len(of.SSH.Listen) > 0 || of.SSH.Port != 0
	case "proxy":
		on = of.Proxy != farm.Proxy{}
	case "syslog":
		on = len(of.Syslog.Servers) > 0
	}
	if on {
		return "up"
	}
	return "unset"
}

// Additional fields of sections in responses.
type (
	dnsView struct {
		Unsettled
		InForce   []string `json:"in_force" doc:"Name servers in use on the machine"`
		ManagedBy string   `json:"managed_by,omitempty" doc:"Other program that manages the name servers of the machine"`
	}
	ntpView struct {
		Unsettled
		Timekeeping
	}
	sshView  struct{ Unsettled }
	snmpView struct {
		Unsettled
		Agent string `json:"agent,omitempty" doc:"Status of the SNMP subagent for farms"`
	}
	httpView struct {
		Unsettled
		Listens string `json:"listens,omitempty" doc:"Current listen address of the API"`
	}
	proxyView  struct{ Unsettled }
	syslogView struct {
		Unsettled
		Delivery []SyslogServer `json:"delivery" doc:"Delivery counters per server, since mgmt started or the server was configured"`
	}
)

func (dnsView) Table() (string, []field.Answered)    { return shown("dns") }
func (ntpView) Table() (string, []field.Answered)    { return shown("ntp") }
func (sshView) Table() (string, []field.Answered)    { return shown("ssh") }
func (snmpView) Table() (string, []field.Answered)   { return shown("snmp") }
func (httpView) Table() (string, []field.Answered)   { return shown("http") }
func (proxyView) Table() (string, []field.Answered)  { return shown("proxy") }
func (syslogView) Table() (string, []field.Answered) { return shown("syslog") }

func shown(name string) (string, []field.Answered) {
	return "System_" + name, system.Named(name).Table.Answers()
}

// view is a pointer to the additional fields of a section.
type view[V any] interface {
	*V
	tell(Unsettled)
}

// viewed is the type constraint of rest.View.
type viewed interface {
	Table() (string, []field.Answered)
}

// section is the resource of one section.
type section[V viewed, P view[V]] struct {
	*Resource
	of *system.Section
	// look adds the actual state of the machine.
	look func(*rest.Call, P)
}

func sectionOf[V viewed, P view[V]](s *Resource, name string, look func(*rest.Call, P)) section[V, P] {
	return section[V, P]{s, system.Named(name), look}
}

// operations returns the read and change operations; body is the table of a change.
func (r section[V, P]) operations(body *field.Table[farm.System]) []*rest.Operation {
	path, about := "/system/"+r.of.Name, "the settings of "+r.of.Name
	return []*rest.Operation{
		rest.Op(rest.Get, path, rbac.SystemMenu, "Get "+about, r.get),
		rest.Op(rest.Post, path, rbac.SystemModify, "Change "+about, func(c *rest.Call) (rest.Object[rest.View[V]], error) { return r.set(c, body) }).Body(body).Edits(),
	}
}

func (r section[V, P]) get(c *rest.Call) (rest.Object[rest.View[V]], error) {
	var about V
	P(&about).tell(r.settled(r.of, &c.Config.System))
	if r.look != nil {
		r.look(c, &about)
	}
	return rest.Object[rest.View[V]]{Description: c.Summary(), Params: rest.View[V]{About: about, Fields: r.of.Table.Answer(&c.Config.System)}}, nil
}

func (r section[V, P]) set(c *rest.Call, body *field.Table[farm.System]) (out rest.Object[rest.View[V]], err error) {
	values, err := rest.Decode(c, body)
	if err != nil {
		return out, err
	}
	c.MayTake(machineTime)
	if _, err := c.Change("system "+r.of.Name, func(cfg *farm.Config) error { return values.Apply(&cfg.System) }); err != nil {
		return out, err
	}
	out, err = r.get(c)
	out.Message = fmt.Sprintf("The settings of %s have been changed.", r.of.Name)
	out.Warning = c.Warning(r.of.Path())
	return out, err
}

// problem returns what is not in force in a section.
func (s *Resource) problem(of *system.Section) string {
	for _, e := range s.deps.Applier.Unsettled() {
		if e.Path == of.Path() {
			return e.Message
		}
	}
	return ""
}

func (s *Resource) machineOperations() (out []*rest.Operation) {
	m := s.deps.Machine
	add := func(ops []*rest.Operation) { out = append(out, ops...) }
	add(sectionOf(s, "dns", func(_ *rest.Call, v *dnsView) {
		if v.InForce = []string{}; m.NameServers != nil {
			list, by := m.NameServers()
			v.InForce, v.ManagedBy = append(v.InForce, list...), by
		}
	}).operations(table("dns")))
	add(sectionOf(s, "ntp", func(c *rest.Call, v *ntpView) {
		if v.Synchronised = "unknown"; m.Time != nil {
			v.Timekeeping = m.Time(c.Context)
		}
	}).operations(table("ntp")))
	add(sectionOf[sshView](s, "ssh", nil).operations(table("ssh")))
	add(sectionOf(s, "snmp", func(c *rest.Call, v *snmpView) {
		v.serves(m.Serves, &c.Config.System.SNMP)
		if m.Agent != nil {
			v.Agent = m.Agent()
		}
	}).operations(table("snmp")))
	http := sectionOf(s, "http", func(_ *rest.Call, v *httpView) {
		if m.Listener != nil {
			v.Listens = m.Listener()
		}
	})
	add(http.operations(&system.ListenerChange))
	add(sectionOf[proxyView](s, "proxy", nil).operations(table("proxy")))
	syslog := sectionOf(s, "syslog", func(_ *rest.Call, v *syslogView) {
		if v.Delivery = []SyslogServer{}; m.Syslog != nil {
			v.Delivery = append(v.Delivery, m.Syslog()...)
		}
	})
	add(syslog.operations(table("syslog")))
	return append(out,
		rest.Op(rest.Post, "/system/https/certificate", rbac.SystemModify, "Choose the certificate of API and web interface", func(c *rest.Call) (rest.Object[rest.View[httpView]], error) {
			return http.set(c, &system.APICertificate)
		}).Body(&system.APICertificate).Edits(),
		rest.Op(rest.Get, "/system/rsyslog", rbac.SystemMenu, "Get the first server of remote syslog", s.getRsyslog),
		rest.Op(rest.Post, "/system/rsyslog", rbac.SystemModify, "Change the server of remote syslog", func(c *rest.Call) (rest.Object[rest.View[rsyslogView]], error) {
			if _, err := syslog.set(c, &system.RemoteSyslog); err != nil {
				return rest.Object[rest.View[rsyslogView]]{}, err
			}
			out, err := s.getRsyslog(c)
			out.Message, out.Warning = "The settings of rsyslog have been changed.", c.Warning(syslog.of.Path())
			return out, err
		}).Body(&system.RemoteSyslog).Edits())
}

func table(name string) *field.Table[farm.System] { return &system.Named(name).Table }

// rsyslogView is the family's view of remote syslog.
type rsyslogView struct{ Unsettled }

func (rsyslogView) Table() (string, []field.Answered) {
	return "System_rsyslog", system.RemoteSyslog.Answers()
}

func (s *Resource) getRsyslog(c *rest.Call) (rest.Object[rest.View[rsyslogView]], error) {
	return rest.Object[rest.View[rsyslogView]]{Description: c.Summary(), Params: rest.View[rsyslogView]{
		About: rsyslogView{s.settled(system.Named("syslog"), &c.Config.System)}, Fields: system.RemoteSyslog.Answer(&c.Config.System)}}, nil
}
