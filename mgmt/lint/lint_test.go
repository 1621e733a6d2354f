package lint_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/lint"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// cleanEvidence returns evidence without problems: everything is used and up.
func cleanEvidence() lint.Evidence {
	return lint.Evidence{
		Now:       now,
		Hits:      func(*farm.Farm, uint32) (uint64, bool) { return 9, true },
		Logins:    func(uint32) uint64 { return 0 },
		Redirects: func(*farm.Farm) uint64 { return 0 },
		Recorded:  func(*farm.Farm, []uint32) lint.Record { return lint.Record{} },
		Status:    func(farm.Group, int) farm.Status { return farm.StatusUp },
		Since:     func(uint32) time.Time { return time.Time{} },
		Unable:    func(uint32) string { return "" },
		HostName:  func(farm.Group, *farm.Backend) lint.HostName { return lint.HostName{} },
		Program:   func(string) (string, error) { return "", nil },
	}
}

// shop returns a farm with these services, each with a backend.
func shop(list ...farm.Service) *farm.Config {
	f := farm.Farm{ID: 1, Name: "shop", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("192.0.2.10"), VPort: 80, HTTP: farm.DefaultHTTP()}
	for i := range list {
		if list[i].ID = uint32(i + 1); list[i].Redirect == "" && list[i].Backends == nil {
			list[i].Backends = []farm.Backend{{ID: uint32(10 + i), Slot: 1, Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 8080}}
		}
	}
	f.HTTP.Services = list
	return &farm.Config{Farms: []farm.Farm{f}}
}

// findingLines summarises findings as lines: code, service or certificate, and the objects they name.
func findingLines(list []lint.Finding) (out []string) {
	for _, f := range list {
		out = append(out, strings.Join(strings.Fields(f.Code+" "+f.Service+f.Certificate+" "+f.By), " "))
	}
	return out
}

func split(n uint8) *uint8 { return &n }

func TestServicesAreComparedWithThoseBeforeThem(t *testing.T) {
	for name, c := range map[string]struct {
		services []farm.Service
		want     []string
	}{
		"the rest behind the special":        {[]farm.Service{{Name: "api", URL: "^/api/"}, {Name: "web"}}, nil},
		"the rest before the special":        {[]farm.Service{{Name: "web"}, {Name: "api", URL: "^/api/"}}, []string{"service-shadowed api web"}},
		"the same twice":                     {[]farm.Service{{Name: "a", URL: "^/a"}, {Name: "b", URL: "^/a"}}, []string{"service-shadowed b a"}},
		"a longer path":                      {[]farm.Service{{Name: "a", URL: "^/app"}, {Name: "b", URL: "^/app/x"}}, []string{"service-shadowed b a"}},
		"another host":                       {[]farm.Service{{Name: "a", VHost: `a\.example`}, {Name: "b", VHost: `b\.example`}}, nil},
		"the host is within, the path not":   {[]farm.Service{{Name: "a", URL: "^/a"}, {Name: "b", VHost: `b\.example`, URL: "^/b"}}, nil},
		"the path is within, the host not":   {[]farm.Service{{Name: "a", VHost: `a\.example`, URL: "^/"}, {Name: "b", URL: "^/b"}}, []string{"service-overlap b a"}},
		"hosts without regard to case":       {[]farm.Service{{Name: "a", VHost: `.*\.example$`}, {Name: "b", VHost: `WWW\.EXAMPLE`}}, []string{"service-shadowed b a"}},
		"beginnings without regard to case":  {[]farm.Service{{Name: "a", VHost: `WWW\.ex.*`}, {Name: "b", VHost: `www\.example`}}, []string{"service-shadowed b a"}},
		"a host without an end":              {[]farm.Service{{Name: "a", VHost: `(www|shop)\.example\.com`}}, []string{"host-unanchored a"}},
		"a beginning of hosts":               {[]farm.Service{{Name: "a", VHost: `www\.`}}, []string{"host-unanchored a"}},
		"hosts with an end":                  {[]farm.Service{{Name: "a", VHost: `(www|shop)\.example\.com$`}, {Name: "b", VHost: `www\.example\.org`}, {Name: "c", VHost: "www.example.net:8080"}, {Name: "d", VHost: `api\..*`}, {Name: "e", VHost: `m\..+`}}, nil},
		"both partly":                        {[]farm.Service{{Name: "a", URL: "^/img/"}, {Name: "b", URL: `\.png$`}}, []string{"service-overlap b a"}},
		"neither":                            {[]farm.Service{{Name: "a", URL: "^/img/"}, {Name: "b", URL: "^/css/"}}, nil},
		"case matters":                       {[]farm.Service{{Name: "a", URL: "^/app/x"}, {Name: "b", URL: "^/APP/x"}}, nil},
		"case does not matter":               {[]farm.Service{{Name: "a", URL: "^/app/x", IgnoreCase: true}, {Name: "b", URL: "^/APP/x"}}, []string{"service-shadowed b a"}},
		"the first wants a header":           {[]farm.Service{{Name: "a", HeadRequire: []string{"^X-A: 1"}}, {Name: "b"}}, nil},
		"both want the same header":          {[]farm.Service{{Name: "a", HeadRequire: []string{"^x-a: "}}, {Name: "b", HeadRequire: []string{"^X-A: 1$"}}}, []string{"service-shadowed b a"}},
		"they want other headers":            {[]farm.Service{{Name: "a", HeadRequire: []string{"^X-A: 1"}}, {Name: "b", HeadRequire: []string{"^X-B: 1"}}}, nil},
		"the second wants more":              {[]farm.Service{{Name: "a"}, {Name: "b", HeadRequire: []string{"^X-B: 1"}}}, []string{"service-shadowed b a"}},
		"the first denies what may come":     {[]farm.Service{{Name: "a", HeadDeny: []string{"^X-A: 1"}}, {Name: "b"}}, nil},
		"the second denies more":             {[]farm.Service{{Name: "a", HeadDeny: []string{"^X-A: 1"}}, {Name: "b", HeadDeny: []string{"^X-A:"}}}, []string{"service-shadowed b a"}},
		"the second denies less":             {[]farm.Service{{Name: "a", HeadDeny: []string{"^X-A:"}}, {Name: "b", HeadDeny: []string{"^X-A: 1"}}}, nil},
		"they share their requests":          {[]farm.Service{{Name: "a", Split: split(9)}, {Name: "b", Split: split(1)}}, nil},
		"one behind those that share":        {[]farm.Service{{Name: "a", Split: split(9)}, {Name: "b", Split: split(1)}, {Name: "c"}}, []string{"service-shadowed c a"}},
		"two runs":                           {[]farm.Service{{Name: "a", URL: "^/a", Split: split(9)}, {Name: "b", URL: "^/b"}, {Name: "c", URL: "^/a", Split: split(1)}}, []string{"service-shadowed c a"}},
		"it is named once":                   {[]farm.Service{{Name: "a"}, {Name: "b"}, {Name: "c", URL: "^/c"}}, []string{"service-shadowed b a", "service-shadowed c a"}},
		"a path without its slash":           {[]farm.Service{{Name: "a", URL: "^shop"}, {Name: "b", URL: "^shop"}}, []string{"service-impossible a", "service-impossible b"}},
		"a host that ends before it begins":  {[]farm.Service{{Name: "a", VHost: "x^"}}, []string{"service-impossible a"}},
		"no backends":                        {[]farm.Service{{Name: "a", Backends: []farm.Backend{}}}, []string{"service-empty a"}},
		"too large to be compared":           {[]farm.Service{{Name: "a", URL: "^/[ab]*a[ab]{15}$"}, {Name: "b", URL: "^/(a|b)*a(a|b){15}$"}}, []string{"services-uncompared"}},
		"too large, but apart at a glance":   {[]farm.Service{{Name: "a", URL: "^/a[ab]*a[ab]{15}$"}, {Name: "b", URL: "^/b(a|b)*a(a|b){15}$"}}, nil},
		"a text in a class, with a question": {[]farm.Service{{Name: "a", URL: "^/ab?"}, {Name: "b", URL: "^/a"}}, []string{"service-shadowed b a"}},
	} {
		if got := findingLines(lint.Look(shop(c.services...), cleanEvidence())); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestWhereTheFarmIgnoresCaseItsServicesDo(t *testing.T) {
	cfg := shop(farm.Service{Name: "a", URL: "^/app/x"}, farm.Service{Name: "b", URL: "^/APP/x"})
	cfg.Farms[0].HTTP.IgnoreCase = true
	if got := findingLines(lint.Look(cfg, cleanEvidence())); !slices.Equal(got, []string{"service-shadowed b a"}) {
		t.Errorf("%q", got)
	}
}

func TestShadowHasAnExampleAndAdvice(t *testing.T) {
	list := lint.Look(shop(farm.Service{Name: "all", VHost: `.*\.example\.com$`}, farm.Service{Name: "it's", VHost: `(www|m)\.example\.com$`, URL: "^/it's"}, farm.Service{Name: "any", URL: "^/it"}), cleanEvidence())
	if len(list) != 2 {
		t.Fatalf("%q", findingLines(list))
	}
	f := list[0]
	if f.Severity != lint.Warning || f.Example == nil || f.Example.Host != "www.example.com" || f.Example.Path != "/it's" {
		t.Errorf("%+v, %+v", f, f.Example)
	}
	for _, want := range []string{"service move shop it's 0", `sluice explain shop '/it'\''s' -H 'Host: www.example.com'`} {
		if !strings.Contains(f.Advice, want) {
			t.Errorf("advice %q lacks %q", f.Advice, want)
		}
	}
	if !strings.Contains(f.Evidence, `all: vhost .*\.example\.com$ urlp (any); it's: vhost`) || list[1].Severity != lint.Info {
		t.Errorf("%s\n%+v", f.Evidence, list[1])
	}
}

func TestOverlapsAreBounded(t *testing.T) {
	var services []farm.Service
	for i := range 10 {
		services = append(services, farm.Service{Name: fmt.Sprintf("s%d", i), URL: fmt.Sprintf("/%d/", i)})
	}
	list := lint.Look(shop(services...), cleanEvidence())
	if last := list[len(list)-1]; len(list) != 21 || last.Message != "25 more pairs of services overlap" {
		t.Errorf("%d: %+v", len(list), last)
	}
}

func TestAThousandServicesAreComparedWithinTheBudget(t *testing.T) {
	var services []farm.Service
	for i := range 1000 {
		services = append(services, farm.Service{Name: fmt.Sprintf("s%d", i), VHost: fmt.Sprintf(`www\.shop%d\.example`, i), URL: fmt.Sprintf("^/%d/", i)})
	}
	services = append(services, farm.Service{Name: "twin", VHost: `www\.shop7\.example`, URL: "^/7/x"})
	if got := findingLines(lint.Look(shop(services...), cleanEvidence())); !slices.Equal(got, []string{"service-shadowed twin s7"}) {
		t.Errorf("%q", got)
	}
}

func TestComparingEndsWhenItsStepsAreUsedUp(t *testing.T) {
	var services []farm.Service
	for i := range 16 { // 120 pairs, each beyond the limit of one question
		services = append(services, farm.Service{Name: fmt.Sprintf("s%d", i), URL: fmt.Sprintf("^/(%s|b)*a(a|b){15}$", strings.Repeat("a|", i)+"a")})
	}
	services = append(services, farm.Service{Name: "x", URL: "/x/"}, farm.Service{Name: "y", URL: "/y/"})
	list := lint.Look(shop(services...), cleanEvidence())
	if got := findingLines(list); !slices.Equal(got, []string{"services-uncompared"}) || !strings.HasSuffix(list[0].Message, " pairs of services were not compared") || list[0].Severity != lint.Info {
		t.Errorf("%q", got)
	}
}

func TestUnusedServicesAreFound(t *testing.T) {
	old, young := now.Add(-8*24*time.Hour), now.Add(-time.Hour)
	one := farm.Service{Name: "web"}
	for name, c := range map[string]struct {
		services []farm.Service
		change   func(*lint.Evidence, *farm.Config)
		want     []string // severity, code, service
	}{
		"hit": {[]farm.Service{one}, nil, nil},
		"never, for long": {[]farm.Service{one}, func(e *lint.Evidence, _ *farm.Config) {
			e.Recorded = func(*farm.Farm, []uint32) lint.Record { return lint.Record{Since: old} }
		}, []string{"warning service-never-hit web"}},
		"never, since a moment": {[]farm.Service{one}, func(e *lint.Evidence, _ *farm.Config) {
			e.Recorded = func(*farm.Farm, []uint32) lint.Record { return lint.Record{Since: young} }
		}, []string{"info service-never-hit web"}},
		"never, and since when is not known": {[]farm.Service{one}, func(*lint.Evidence, *farm.Config) {}, []string{"info service-never-hit web"}},
		"before the counters began": {[]farm.Service{one}, func(e *lint.Evidence, _ *farm.Config) {
			e.Recorded = func(*farm.Farm, []uint32) lint.Record { return lint.Record{Since: old, Hit: true} }
		}, nil},
		"nobody can say": {[]farm.Service{one}, func(e *lint.Evidence, _ *farm.Config) {
			e.Hits = func(*farm.Farm, uint32) (uint64, bool) { return 0, false }
		}, nil},
		"its backends cannot be used": {[]farm.Service{one}, func(e *lint.Evidence, _ *farm.Config) {
			e.Status = func(farm.Group, int) farm.Status { return farm.StatusMaintenance }
		}, nil},
		"its backends were not tried": {[]farm.Service{one}, func(e *lint.Evidence, _ *farm.Config) {
			e.Status = func(farm.Group, int) farm.Status { return farm.StatusUndefined }
		}, []string{"info service-never-hit web"}},
		"one of two backends was hit": {[]farm.Service{{Name: "web", Backends: []farm.Backend{{ID: 10, Slot: 1}, {ID: 11, Slot: 2}}}}, func(e *lint.Evidence, _ *farm.Config) {
			e.Hits = func(_ *farm.Farm, id uint32) (uint64, bool) { return uint64(id - 10), true }
		}, nil},
		"the farm is stopped":    {[]farm.Service{one}, func(_ *lint.Evidence, cfg *farm.Config) { cfg.Farms[0].Stopped = true }, nil},
		"it is shadowed, too":    {[]farm.Service{one, {Name: "b"}}, func(*lint.Evidence, *farm.Config) {}, []string{"warning service-shadowed b", "info service-never-hit web"}},
		"one redirects, and did": {[]farm.Service{{Name: "to", Redirect: "http://x"}}, func(e *lint.Evidence, _ *farm.Config) { e.Redirects = func(*farm.Farm) uint64 { return 3 } }, nil},
		"two redirect, one did": {[]farm.Service{{Name: "to", URL: "^/a", Redirect: "http://x"}, {Name: "on", URL: "^/b", Redirect: "http://x"}},
			func(e *lint.Evidence, _ *farm.Config) { e.Redirects = func(*farm.Farm) uint64 { return 3 } },
			[]string{"info service-hits-unknown to", "info service-hits-unknown on"}},
		"two redirect, none did": {[]farm.Service{{Name: "to", URL: "^/a", Redirect: "http://x"}, {Name: "on", URL: "^/b", Redirect: "http://x"}}, nil,
			[]string{"info service-never-hit to", "info service-never-hit on"}},
	} {
		cfg, e := shop(c.services...), cleanEvidence()
		if c.change != nil {
			e.Hits = func(*farm.Farm, uint32) (uint64, bool) { return 0, true }
			c.change(&e, cfg)
		}
		var got []string
		for _, f := range lint.Look(cfg, e) {
			got = append(got, string(f.Severity)+" "+f.Code+" "+f.Service)
			if f.Since != nil && !strings.Contains(f.Evidence, "since "+f.Since.Format(time.RFC3339)) {
				t.Errorf("%s: since %v, evidence %s", name, f.Since, f.Evidence)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestDownBackendsAreFoundWithTheirTime(t *testing.T) {
	for name, c := range map[string]struct {
		since    time.Time
		change   func(*farm.Config)
		severity lint.Severity
		evidence string
	}{
		"for a day":          {now.Add(-24 * time.Hour), nil, lint.Warning, "down since 2026-11-23T12:00:00Z; 9 requests were ever sent to it"},
		"for less":           {now.Add(-24*time.Hour + time.Second), nil, lint.Info, "down since 2026-11-23T12:00:01Z"},
		"since nobody knows": {time.Time{}, nil, lint.Info, "since when is not known"},
		"part of a name":     {now, func(cfg *farm.Config) { cfg.Farms[0].HTTP.Services[0].Backends[0].Of = 77 }, "", ""},
		"gone from a name":   {now, func(cfg *farm.Config) { cfg.Farms[0].HTTP.Services[0].Backends[0].Left = true }, "", ""},
		"stopped":            {now, func(cfg *farm.Config) { cfg.Farms[0].Stopped = true }, "", ""},
	} {
		cfg, e := shop(farm.Service{Name: "web"}), cleanEvidence()
		e.Status = func(farm.Group, int) farm.Status { return farm.StatusDown }
		e.Since = func(uint32) time.Time { return c.since }
		if c.change != nil {
			c.change(cfg)
		}
		list := lint.Look(cfg, e)
		if c.severity == "" {
			if len(list) != 0 {
				t.Errorf("%s: %q", name, findingLines(list))
			}
			continue
		}
		if len(list) != 1 || list[0].Code != lint.BackendDown || list[0].Severity != c.severity || *list[0].Backend != 0 || !strings.Contains(list[0].Evidence, c.evidence) {
			t.Errorf("%s: %+v", name, list)
		}
	}
	cfg, e := shop(farm.Service{Name: "to", Redirect: "http://x", Backends: []farm.Backend{{ID: 1}}}), cleanEvidence()
	e.Redirects = func(*farm.Farm) uint64 { return 1 }
	e.Status = func(farm.Group, int) farm.Status { return farm.StatusDown }
	if list := lint.Look(cfg, e); !slices.Equal(findingLines(list), []string{"backends-unused to"}) || list[0].Severity != lint.Warning || !strings.Contains(list[0].Evidence, "1 backends, redirect http://x") {
		t.Errorf("a service that redirects: %q", findingLines(list))
	}
}

func TestBackendsTheirCheckCannotAskAreFindings(t *testing.T) {
	for name, c := range map[string]struct {
		status farm.Status
		change func(*farm.Service)
		want   string
	}{
		"undefined":      {farm.StatusUndefined, nil, "backend-unasked web"},
		"stays up":       {farm.StatusUp, nil, "backend-unasked web"},
		"down":           {farm.StatusDown, nil, "backend-down web"},
		"in maintenance": {farm.StatusMaintenance, nil, ""},
		"redirects":      {farm.StatusUndefined, func(s *farm.Service) { s.Redirect = "http://x" }, "backends-unused web"},
		"a name's address": {farm.StatusUndefined, func(s *farm.Service) {
			s.Backends = []farm.Backend{{ID: 9, Host: "a.example", Resolve: farm.ResolveAll}, {ID: 10, Of: 9}}
		}, "backend-unasked web"},
		"a name's former address": {farm.StatusUndefined, func(s *farm.Service) {
			s.Backends = []farm.Backend{{ID: 9, Host: "a.example", Resolve: farm.ResolveAll}, {ID: 10, Of: 9, Left: true}}
		}, ""},
	} {
		cfg, e := shop(farm.Service{Name: "web"}), cleanEvidence()
		e.Redirects = func(*farm.Farm) uint64 { return 1 }
		if c.change != nil {
			c.change(&cfg.Farms[0].HTTP.Services[0])
		}
		e.Status = func(farm.Group, int) farm.Status { return c.status }
		e.Unable = func(id uint32) string {
			if id != 10 {
				return ""
			}
			return "cannot be asked by check alive: no route"
		}
		list := lint.Look(cfg, e)
		if got := strings.Join(findingLines(list), ","); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.want == "backend-unasked web" && (list[0].Evidence != "it cannot be asked by check alive: no route" || list[0].Severity != lint.Warning || *list[0].Backend != 0) {
			t.Errorf("%s: %+v", name, list[0])
		}
	}
}

func TestHostNamesWithoutAnAddressOrWithTooManyAreFindings(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		is       lint.HostName
		want     string
		severity lint.Severity
		evidence string
	}{
		"as it should be": {},
		"gone":            {lint.HostName{Problem: "no such name", GoneSince: since}, "name-gone web", lint.Warning, "no such name; its last addresses are still used"},
		"gone for long":   {lint.HostName{Problem: "no such name", GoneSince: since, Withdrawn: true}, "name-gone web", lint.Error, "no such name; its last addresses are no longer returned, because they may belong to somebody else by now"},
		"too many":        {lint.HostName{Unused: []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"}}, "addresses-unused web", lint.Warning, "unused addresses: 5 (10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4 …)"},
		"unread":          {lint.HostName{Cut: true}, "addresses-unused web", lint.Warning, "the name has more addresses than are read"},
		"both":            {lint.HostName{Unused: []string{"::1"}, Cut: true}, "addresses-unused web", lint.Warning, "unused addresses: 1 (::1); the name has more addresses than are read"},
	} {
		cfg, e := shop(farm.Service{Name: "web", Backends: []farm.Backend{{ID: 9, Host: "a.example", Resolve: farm.ResolveAll}, {ID: 10, Slot: 1, Host: "10.0.0.1"}}}), cleanEvidence()
		e.Redirects = func(*farm.Farm) uint64 { return 1 }
		e.HostName = func(_ farm.Group, b *farm.Backend) lint.HostName {
			if b.Host != "a.example" {
				t.Errorf("%s: %s was looked up", name, b.Host)
			}
			return c.is
		}
		list := lint.Look(cfg, e)
		if got := strings.Join(findingLines(list), ","); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
			continue
		}
		if c.want != "" && (list[0].Severity != c.severity || list[0].Evidence != c.evidence || (list[0].Since != nil) != (c.is.Problem != "")) {
			t.Errorf("%s: %+v", name, list[0])
		}
	}
}

func TestWarningsOfTheConfigurationAreFindings(t *testing.T) {
	cfg := shop(farm.Service{Name: "web", Split: split(1), Backends: []farm.Backend{
		{ID: 1, Slot: 1, Priority: 1}, {ID: 2, Slot: 4, Priority: 9}}})
	e := cleanEvidence()
	e.Warnings = append(validate.Warnings(cfg), field.Error{Path: profile.FarmPath("other"), Field: "x"})
	list := lint.Look(cfg, e)
	if got := findingLines(list); !slices.Equal(got, []string{"setting-idle web", "backend-unreachable web"}) {
		t.Fatalf("%q", got)
	}
	if f := list[0]; f.Field != "split" || f.Severity != lint.Warning || !strings.Contains(f.Message, "split has no effect") {
		t.Errorf("%+v", f)
	}
	if f := list[1]; *f.Backend != 3 || !strings.Contains(f.Message, "priority 9 will never be used") {
		t.Errorf("%+v", f)
	}
}

func TestKernelFarmsWithoutACheckAreFound(t *testing.T) {
	relay := farm.DefaultL4()
	relay.DataPath, relay.Ports, relay.Backends = farm.DataPathKernel, []farm.PortRange{{First: 80, Last: 80}}, []farm.Backend{{ID: 2, Addr: netip.MustParseAddr("192.0.2.1")}}
	cfg := &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "relay", VIP: netip.MustParseAddr("192.0.2.9"), VPort: 80, L4: relay}}}
	look := func() []lint.Finding {
		e := cleanEvidence()
		e.Warnings = validate.Warnings(cfg)
		return lint.Look(cfg, e)
	}
	list := look()
	if got := findingLines(list); !slices.Equal(got, []string{"farm-unchecked"}) || list[0].Farm != "relay" || list[0].Severity != lint.Info || !strings.Contains(list[0].Advice, "link a check") {
		t.Errorf("without a check: %+v", list)
	}
	relay.DataPath = farm.DataPathUserspace
	if got := findingLines(look()); len(got) != 0 {
		t.Errorf("in userspace, where a failed connect marks a backend down: %q", got)
	}
}

func TestExpiringAndHiddenCertificatesAreFound(t *testing.T) {
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		certificate lint.Certificate
		want        string
	}{
		"long valid":                 {lint.Certificate{Running: true, NotAfter: now.Add(31 * day)}, ""},
		"thirty days":                {lint.Certificate{Running: true, NotAfter: now.Add(30 * day)}, "warning certificate-expires: certificate c.pem expires in 30 days"},
		"a moment":                   {lint.Certificate{Running: true, NotAfter: now.Add(time.Second)}, "warning certificate-expires: certificate c.pem expires in 0 days"},
		"over":                       {lint.Certificate{Running: true, NotAfter: now}, "error certificate-expired: certificate c.pem has expired"},
		"renewed in time":            {lint.Certificate{Running: true, Renewed: true, NotAfter: now.Add(30 * day)}, ""},
		"its renewal is overdue":     {lint.Certificate{Running: true, Renewed: true, NotAfter: now.Add(10 * day)}, "warning certificate-expires"},
		"nobody names it":            {lint.Certificate{NotAfter: now.Add(99 * day)}, "info certificate-unused: certificate c.pem is shown to nobody: nothing names it"},
		"what is stopped names it":   {lint.Certificate{Users: []string{"farm x"}, NotAfter: now.Add(99 * day)}, "info certificate-unused: certificate c.pem is shown to nobody: only what is stopped"},
		"over, and nobody names it":  {lint.Certificate{NotAfter: now.Add(-day)}, "info certificate-unused"},
		"over, and renewed (is not)": {lint.Certificate{Running: true, Renewed: true, NotAfter: now.Add(-day)}, "error certificate-expired"},
	} {
		c.certificate.Name = "c.pem"
		e := cleanEvidence()
		e.Certificates = []lint.Certificate{c.certificate}
		var got string
		for _, f := range lint.Look(&farm.Config{}, e) {
			got += string(f.Severity) + " " + f.Code + ": " + f.Message
			if renews := strings.Contains(f.Advice, "sluice acme renew c.pem"); renews != c.certificate.Renewed {
				t.Errorf("%s: advice %s", name, f.Advice)
			}
		}
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCertificatesWithTheSameNamesHideLaterOnes(t *testing.T) {
	for name, c := range map[string]struct {
		kinds []string
		names [][]string
		want  []string
	}{
		"the same names":              {[]string{"RSA 2048", "RSA 4096"}, [][]string{{"a.example"}, {"A.example"}}, []string{"certificate-hidden 1.pem 0.pem"}},
		"another kind of key":         {[]string{"RSA 2048", "ECDSA P-256"}, [][]string{{"a.example"}, {"a.example"}}, nil},
		"a small key":                 {[]string{"RSA 2048", "RSA 1024"}, [][]string{{"a.example"}, {"a.example"}}, []string{"certificate-weak 1.pem"}},
		"one name more":               {[]string{"RSA 2048", "RSA 2048"}, [][]string{{"a.example"}, {"a.example", "b.example"}}, nil},
		"two together":                {[]string{"RSA 2048", "RSA 2048", "RSA 2048"}, [][]string{{"a.example"}, {"b.example"}, {"a.example", "b.example"}}, []string{"certificate-hidden 2.pem 0.pem, 1.pem"}},
		"a wildcard stands beside it": {[]string{"RSA 2048", "RSA 2048"}, [][]string{{"*.example"}, {"a.example"}}, nil},
		"without names":               {[]string{"RSA 2048", "RSA 2048"}, [][]string{{"a.example"}, nil}, nil},
	} {
		cfg, e := shop(farm.Service{Name: "web"}), cleanEvidence()
		cfg.Farms[0].HTTP.TLS = &farm.TLS{}
		for i := range c.kinds {
			file := fmt.Sprintf("%d.pem", i)
			cfg.Farms[0].HTTP.TLS.Certificates = append(cfg.Farms[0].HTTP.TLS.Certificates, file)
			e.Certificates = append(e.Certificates, lint.Certificate{Name: file, Names: c.names[i], KeyType: c.kinds[i], Running: true, NotAfter: now.Add(99 * 24 * time.Hour)})
		}
		if got := findingLines(lint.Look(cfg, e)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		e.Certificates = e.Certificates[1:]
		got := slices.DeleteFunc(findingLines(lint.Look(cfg, e)), func(f string) bool { return strings.HasPrefix(f, "certificate-weak") })
		if len(c.kinds) == 2 && len(got) > 0 {
			t.Errorf("%s, without this kind: %q", name, got)
		}
	}
}

func TestWeakKeysInUseAreFound(t *testing.T) {
	for kind, want := range map[string]string{"RSA 1024": "certificate-weak", "RSA 2047": "certificate-weak", "RSA 2048": "", "ECDSA P-256": "", "Ed25519": ""} {
		for _, running := range []bool{true, false} {
			e := cleanEvidence()
			e.Certificates = []lint.Certificate{{Name: "c.pem", KeyType: kind, Running: running, Users: []string{"farm shop"}, NotAfter: now.Add(99 * 24 * time.Hour)}}
			found := slices.ContainsFunc(lint.Look(&farm.Config{}, e), func(f lint.Finding) bool { return f.Code == lint.CertificateWeak })
			if found != (want != "" && running) {
				t.Errorf("%s, running %t: %t", kind, running, found)
			}
		}
	}
}

// Clients without an intermediate certificate reject a chain that lacks it.
func TestCertificatesWithoutTheirIntermediateAreFound(t *testing.T) {
	for _, c := range []struct {
		missing       string
		running, want bool
	}{{"mid", true, true}, {"mid", false, false}, {"", true, false}} {
		e := cleanEvidence()
		e.Certificates = []lint.Certificate{{Name: "c.pem", KeyType: "Ed25519", MissingIssuer: c.missing, Running: c.running, Users: []string{"farm shop"}, NotAfter: now.Add(99 * 24 * time.Hour)}}
		found := slices.IndexFunc(lint.Look(&farm.Config{}, e), func(f lint.Finding) bool {
			return f.Code == lint.CertificateIncomplete && strings.Contains(f.Evidence, "issued by mid") && strings.Contains(f.Evidence, "farm shop")
		})
		if (found >= 0) != c.want {
			t.Errorf("%+v: %d", c, found)
		}
	}
}

func TestWorstIsTheGreatestSeverity(t *testing.T) {
	list := []lint.Finding{{Severity: lint.Info}, {Severity: lint.Error}, {Severity: lint.Warning}}
	if lint.Worst(list) != lint.Error || lint.Worst(list[:1]) != lint.Info || lint.Worst(nil) != "" {
		t.Error("another one")
	}
}

func TestChecksRunningProgramsAreFound(t *testing.T) {
	e := cleanEvidence()
	e.Program = func(command string) (string, error) {
		switch command {
		case "plugin":
			return "check_x", nil
		case "shell":
			return "negate", fmt.Errorf("it runs other programs")
		}
		return "", nil
	}
	cfg := shop(farm.Service{Name: "a", Check: "built-in"}, farm.Service{Name: "b", Check: "own"}, farm.Service{Name: "c", Check: "old"}, farm.Service{Name: "d", Check: "gone"})
	cfg.Checks = []farm.Check{{Name: "built-in", Command: "check_tcp"}, {Name: "own", Command: "plugin"}, {Name: "old", Command: "shell"}, {Name: "unused", Command: "shell"}}
	var got []string
	for _, f := range lint.Look(cfg, e) {
		if strings.HasPrefix(f.Code, "check-") {
			got = append(got, fmt.Sprintf("%s %s %s", f.Code, f.Severity, f.Service))
		}
	}
	if want := []string{"check-unfit warning c", "check-program info b"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
