package validate_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

// object returns the fields of a table as a JSON object.
func object(t *testing.T, given iter.Seq2[string, field.Value]) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, v := range given {
		out[name] = v.Any()
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return validatetest.Body(t, string(text))
}

// read decodes an object of a document and returns the errors.
func read[T any](t *testing.T, table *field.Table[T], to *T, text string) (problems []string) {
	t.Helper()
	values, broken := table.DecodeAll("here", validatetest.Body(t, text))
	for _, err := range append(broken, values.ApplyAll(to)...) {
		problems = append(problems, err.Error())
	}
	return problems
}

func TestDocumentsSetFieldsAndGiveThemAgain(t *testing.T) {
	const (
		ofFarm = `{"name":"shop","profile":"http","vip":"10.0.0.5","vport":80,"stopped":true,"contimeout":5,
			"addheader":["X-A: 1","X-B: 2"],"headremove":["^X-C"],"log_headers":["X-A"],"log_redact":["pin"],"addresponseheader":["X-D: 4"],"removeresponseheader":["^X-E","^X-F"]}`
		ofService = `{"name":"web","urlp":"^/a","persistence":"IP","ttl":60,
			"addrequestheader":["X-A: 1"],"removerequestheader":["^X-B"],"addresponseheader":["X-C: 3"],"removeresponseheader":["^X-D"]}`
		ofBackend = `{"ip":"db.example","port":81,"weight":3,"priority":2,"resolve":"all","maintenance":"cut","sessions":["10.0.0.1"],"alias":"db","mark":7}`
	)
	var f farm.Farm
	var s farm.Service
	var b farm.Backend
	table := profile.Named(farm.ProfileHTTP).Farm().Document
	for name, c := range map[string]struct {
		problems []string
		given    iter.Seq2[string, field.Value]
		want     string
	}{
		"farm":    {read(t, table, &f, ofFarm), table.Given(&f), ofFarm},
		"service": {read(t, &httpfarm.ServiceDocument, &s, ofService), httpfarm.ServiceDocument.Given(&s), ofService},
		"backend": {read(t, &httpfarm.BackendDocument, &b, ofBackend), httpfarm.BackendDocument.Given(&b), ofBackend},
	} {
		got, want := fmt.Sprint(object(t, c.given)), fmt.Sprint(validatetest.Body(t, c.want))
		if len(c.problems) != 0 || got != want {
			t.Errorf("%s: problems %q, got\n%s\nwant\n%s", name, c.problems, got, want)
		}
	}
	if !f.Stopped || b.Resolve != farm.ResolveAll || b.Maintenance != farm.MaintenanceCut || len(f.HTTP.RemoveResponse) != 2 || s.AddResponse[0].Header != "X-C: 3" {
		t.Errorf("%+v\n%+v\n%+v", f, s, b)
	}
	count := 0
	for range httpfarm.BackendDocument.Given(&b) {
		if count++; count == 2 {
			break
		}
	}
	if count != 2 {
		t.Errorf("%d fields were looked at", count)
	}
}

func TestSecretsOfADocumentAreShownAsOthersThanTheyAre(t *testing.T) {
	var s farm.Service
	if problems := read(t, &httpfarm.ServiceDocument, &s, `{"name":"web","auth_users":["ali:sesame"]}`); len(problems) != 0 {
		t.Fatal(problems)
	}
	shown := fmt.Sprint(object(t, httpfarm.ServiceDocument.Shown(&s)))
	if !strings.Contains(shown, "name:web") || !strings.Contains(shown, "ali:") || strings.Contains(shown, s.Auth.Users[0].Hash) {
		t.Errorf("shown is %s", shown)
	}
	if given := fmt.Sprint(object(t, httpfarm.ServiceDocument.Given(&s))); !strings.Contains(given, s.Auth.Users[0].Hash) {
		t.Errorf("given is %s", given)
	}
}

func TestAllProblemsOfAnObjectAreToldAndTheRestIsSet(t *testing.T) {
	var b farm.Backend
	problems := read(t, &httpfarm.BackendDocument, &b, `{"ip":"10.0.0.1","port":0,"weight":10,"priority":4}`)
	if len(problems) != 2 || !strings.Contains(problems[0], "here: port must be") || !strings.Contains(problems[1], "here: weight must be") || b.Host != "10.0.0.1" || b.Priority != 4 || b.Weight != 0 {
		t.Errorf("problems %q, backend %+v", problems, b)
	}
}

// Data from the store, or from another source than a body, follows the same rules.
func TestEveryBrokenRuleBetweenValuesIsNamed(t *testing.T) {
	key := farm.AuthKey(strings.Repeat("0a", 32))
	protect := func(a farm.Auth) func(*farm.Farm, *farm.Service, *farm.Backend) {
		return func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.Auth = &a }
	}
	host := func(name string) func(*farm.Farm, *farm.Service, *farm.Backend) {
		return func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host = name }
	}
	label := strings.Repeat("a", 62) + "."
	for name, c := range map[string]struct {
		spoil func(f *farm.Farm, s *farm.Service, b *farm.Backend)
		want  string
	}{
		"an address for several": {func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Host, b.Resolve = "10.0.0.8", farm.ResolveAll },
			`backend 1: resolve all is allowed only with a host name as ip, got 10.0.0.8`},
		"a host for a record": {func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Resolve, b.Port = farm.ResolveService, 0 },
			`ip must be the name of an SRV record with resolve srv, as _http._tcp.example.com, got "db.example"`},
		"a record": {func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) {
			b.Host, b.Resolve, b.Port = "_http._tcp.example", farm.ResolveService, 0
		}, ""},
		"no port":      {func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Port = 0 }, `port must be a number from 1 to 65535, got 0`},
		"several ones": {func(_ *farm.Farm, _ *farm.Service, b *farm.Backend) { b.Resolve = farm.ResolveAll }, ""},
		"sessions of several": {func(_ *farm.Farm, s *farm.Service, b *farm.Backend) {
			s.Persistence, b.Resolve, b.Sessions = farm.PersistIP, farm.ResolveAll, []string{"10.1.1.1"}
		}, `sessions are of one server, and with resolve all this backend stands for several`},
		"sessions of one of them": {func(_ *farm.Farm, s *farm.Service, b *farm.Backend) {
			s.Persistence, b.Of, b.Sessions = farm.PersistIP, 7, []string{"10.1.1.1"}
		}, ""},
		"a long name":              {host(label + label + label + label + "a"), ""},
		"a name that is too long":  {host(label + label + label + label + "ab"), `the name is longer than 253 bytes`},
		"a name of digits":         {host("a.1"), `it is neither an address nor a host name`},
		"a name that ends with it": {host("db.example."), ""},
		"a zone":                   {host("fe80::1%eth0"), `addresses with a zone are not supported`},
		"IPv4 in IPv6":             {host("::ffff:10.0.0.9"), `write the IPv4 address itself`},
		"a limit of nothing":       {func(_ *farm.Farm, s *farm.Service, _ *farm.Backend) { s.RateLimit = &farm.RateLimit{} }, `ratelimit must not be 0 while its other fields are set`},
		"keys without their header": {protect(farm.Auth{Keys: []farm.AuthKey{key}}),
			`auth_keys is allowed only with auth_header`},
		"a header without keys": {protect(farm.Auth{Header: "X-Key"}), `auth_keys is required with auth_header`},
		"nobody":                {protect(farm.Auth{}), `auth_users is required while its other fields are set`},
		"no hash":               {protect(farm.Auth{Users: []farm.AuthUser{{Name: "ali", Hash: "tea"}}}), `auth_users: user "ali" has no usable hash`},
		"no sum":                {protect(farm.Auth{Header: "X-Key", Keys: []farm.AuthKey{key[1:]}}), `what follows sha256: is no SHA-256`},
		"no digits":             {protect(farm.Auth{Header: "X-Key", Keys: []farm.AuthKey{key[1:] + "g"}}), `what follows sha256: is no SHA-256`},
		"a key":                 {protect(farm.Auth{Header: "X-Key", Keys: []farm.AuthKey{key}}), ""},
		"too many services": {func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) {
			for i := range profile.MaxServices - 1 {
				f.HTTP.Services = append(f.HTTP.Services, farm.Service{Name: fmt.Sprint("s", i)})
			}
		}, `services: at most 4096 are possible in a farm, got 4097`},
		"many services": {func(f *farm.Farm, _ *farm.Service, _ *farm.Backend) {
			for i := range profile.MaxServices - 2 {
				f.HTTP.Services = append(f.HTTP.Services, farm.Service{Name: fmt.Sprint("s", i)})
			}
		}, ""},
	} {
		cfg := validatetest.Good()
		f := &cfg.Farms[0]
		c.spoil(f, &f.HTTP.Services[0], &f.HTTP.Services[0].Backends[1])
		err := validatetest.Rules.Config(cfg)
		if c.want != "" {
			err = validatetest.First(cfg)
		}
		if got := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s:\ngot  %.300v\nwant %s", name, got, c.want)
		}
	}
}

func TestBackendsOfAllFarmsTogetherAreBounded(t *testing.T) {
	for more, want := range []string{"", "backends: at most 65535 are possible over all farms, got 65536"} {
		cfg := validatetest.Good()
		list := make([]farm.Backend, farm.MaxBackendID-2+more)
		for i := range list {
			addr := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
			list[i] = farm.Backend{Host: addr.String(), Addr: addr, Port: 80}
		}
		cfg.Farms[1].HTTP.Services = []farm.Service{{Name: "many", Backends: list}}
		if err := validatetest.Rules.Config(cfg); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("with %d more: got %v, want %q", more, err, want)
		}
	}
}

func TestNumbersAndTruthAreReadAsTheyAreMeant(t *testing.T) {
	for _, c := range []struct {
		raw  any
		want int64
		ok   bool
	}{
		{7, 7, true}, {int64(-7), -7, true}, {"7", 7, true}, {"-7", -7, true}, {json.Number("7"), 7, true}, {7.0, 7, true},
		{float64(1 << 53), 1 << 53, true}, {float64(-1 << 53), -1 << 53, true}, {float64(1<<53 + 2), 0,
			false}, {float64(-1<<53 - 2), 0, false},
		{7.5, 0, false}, {"7.5", 0, false}, {json.Number("7.5"), 0, false}, {"+7", 0, false}, {" 7", 0, false}, {"", 0, false}, {true, 0, false}, {nil, 0, false},
	} {
		if got, ok := field.ParseNumber(c.raw); ok != c.ok || ok && got != c.want {
			t.Errorf("%T %v: got %d %v", c.raw, c.raw, got, ok)
		}
	}
	for raw, want := range map[any]string{true: "true true", false: "false true", "true": "true true", "false": "false true", "yes": "false false", "": "false false", 1: "false false"} {
		is, ok := field.ParseBool(raw)
		if got := fmt.Sprint(is, " ", ok); got != want {
			t.Errorf("%T %v: got %s, want %s", raw, raw, got, want)
		}
	}
}
