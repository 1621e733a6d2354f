package validate

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// everyField returns the fields of all objects of a document.
func everyField() (out []string) {
	for _, p := range Profiles() {
		out = append(out, p.Farm().Document.Names()...)
	}
	out = append(out, ServiceDocument.Names()...)
	out = append(out, BackendDocument.Names()...)
	out = append(out, DNSBackendDocument.Names()...)
	return append(out, CheckDocument.Names()...)
}

func TestTermsOfOthersLeadToOurs(t *testing.T) {
	service, backend, check := ServiceDocument.Names(), BackendDocument.Names(), CheckDocument.Names()
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"maxconn", backend, `(did you mean "connection_limit"?)`},
		{"backup", backend, `(did you mean "priority"?)`},
		{"inter", check, `(did you mean "interval"?)`},
		{"inter", backend, "(a health check has interval, rise and fall: sluice check create)"},
		{"balance", service, `(did you mean "routingpolicy"?)`},
		{"server_name", service, `(did you mean "vhost"?)`},
		{"proxy_pass", service, "(a service forwards to its backends: sluice backend create)"},
		{"timeout connect", []string{"contimeout"}, `(did you mean "contimeout"?)`},
		{"slow-start", service, `(did you mean "slowstart"`},
		{"weigth", backend, `(did you mean "weight"?)`},
		{"balance", L4FarmDocument.Names(), `(did you mean "algorithm"? routingpolicy is a setting of services of http farms: sluice service set)`},
		{"port", service, "(port is a setting of backends: sluice backend set)"},
		{"cookie", backend, "(cookieinsert is a setting of services of http farms: sluice service set)"},
		{"samesite", service, `(did you mean "cookiesamesite"?)`},
		{"SameSite", backend, "(cookiesamesite is a setting of services of http farms: sluice service set)"},
		{"cookie-samesite", service, `(did you mean "cookiesamesite"?)`},
		{"grpc_pass", nil, "set backendprotocol of the service to h2:"},
		{"send-proxy", backend, "(proxyprotocol_out is a setting of services of http farms: sluice service set)"},
		{"backup", service, "(priority is a setting of backends: sluice backend set)"},
		{"weight", service, "(weight is a setting of backends: sluice backend set)"},
		{"prioritty", service, "(priority is a setting of backends: sluice backend set)"},
		{"maxconnections", service, "(maxconnections is a setting of http farms: sluice farm set)"},
		{"interval", service, "(interval is a setting of health checks: sluice check set)"},
		{"nattype", service, "(nattype is a setting of l4xnat farms: sluice farm set)"},
		{"keepalive", service, "(connections to backends are kept and used again"},
		{"timeout", service, `(did you mean "sts_timeout" or "queue_timeout"?)`},
		{"tls", service, `(did you mean "httpsb"? listener is`}, // not ttl
		{"Retry_On ", service, `(did you mean "retry_on"?)`},
	} {
		if got := Suggestion(c.word, c.known); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.word, got, c.want)
		}
	}
}

// A word that is like no name gets no suggestion.
func TestNothingIsSuggestedThatIsNotNear(t *testing.T) {
	for _, known := range [][]string{ServiceDocument.Names(), BackendDocument.Names(), FarmDocument.Names(), L4FarmDocument.Names(), CheckDocument.Names()} {
		for _, word := range []string{"nonsense_word", "zzzz", "quixotic", "xy", "", strings.Repeat("vport", 100), "\x00", "größe"} {
			if got := Suggestion(word, known) + Near(word, known); got != "" {
				t.Errorf("%q: %q", word, got)
			}
		}
	}
}

// A term must lead to an existing field or command.
func TestEachTermLeadsToAFieldThatExists(t *testing.T) {
	fields := append(everyField(), "ip", "max_conns", "server_names", "rise", "fall", "command", "maintenance", "threads", "listen", "certificate")
	for word, term := range Terms() {
		if len(term.Fields) == 0 && term.Command == "" {
			t.Errorf("%s leads nowhere", word)
		}
		for _, name := range term.Fields {
			if !slices.Contains(fields, name) {
				t.Errorf("%s leads to %s, which is no field", word, name)
			}
		}
	}
}

func TestTimesMayHaveTheirUnit(t *testing.T) {
	for _, c := range []struct {
		text, unit string
		want       int64
		ok         bool
	}{
		{"5s", inSeconds, 5, true}, {"2m", inSeconds, 120, true}, {"1h30m", inSeconds, 5400, true}, {"1d", inSeconds, 86400, true}, {"5000ms", inSeconds, 5, true},
		{"500ms", inSeconds, 0, false}, {"1.5s", inSeconds, 0, false}, {"-5s", inSeconds, 0, false}, {"5", inSeconds, 0, false}, {"5x", inSeconds, 0, false}, {"s", inSeconds, 0, false},
		{"2h", inMinutes, 120, true}, {"90s", inMinutes, 0, false}, {"7d", inDays, 7, true}, {"48h", inDays, 2, true}, {"99999999999999d", inDays, 0, false},
		{"5s", inBytes, 0, false}, {"5s", "", 0, false},
	} {
		if got, ok := parseTime(c.text, c.unit); got != c.want || ok != c.ok {
			t.Errorf("%q in %q: %d, %v; want %d, %v", c.text, c.unit, got, ok, c.want, c.ok)
		}
	}
}

func TestRangeErrorsNameTheUnit(t *testing.T) {
	r := rule{name: "contimeout", kind: kindNumber, min: 1, max: 120, hints: basic(atTimeouts, "x").in(inSeconds)}
	if v, err := r.parse("", "5s"); err != nil || v.number != 5 {
		t.Errorf("5s: %v, %v", v, err)
	}
	for _, raw := range []any{0, "0s", "3m", "500ms"} {
		if _, err := r.parse("", raw); err == nil || !strings.Contains(err.Error(), "must be a number from 1 to 120 (seconds), got") {
			t.Errorf("%v: %v", raw, err)
		}
	}
}

func TestAddressesThatServeNotAllClientsAreWarnedOf(t *testing.T) {
	for vip, want := range map[string]string{"::": "IPv6 only", "0.0.0.0": "", "2001:db8::1": "", "127.0.0.1": ""} {
		got := VIPWarning(&farm.Farm{VIP: netip.MustParseAddr(vip)})
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", vip, got, want)
		}
	}
}
