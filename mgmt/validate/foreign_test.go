package validate

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/suggest"
)

// everyField returns the fields of all objects of a document.
func everyField() (out []string) {
	for _, p := range profile.All() {
		out = append(out, p.Farm().Document.Names()...)
	}
	out = append(out, httpfarm.ServiceDocument.Names()...)
	out = append(out, httpfarm.BackendDocument.Names()...)
	out = append(out, gslbfarm.BackendDocument.Names()...)
	return append(out, check.Document.Names()...)
}

func TestTermsOfOthersLeadToOurs(t *testing.T) {
	service, backend, verify := httpfarm.ServiceDocument.Names(), httpfarm.BackendDocument.Names(), check.Document.Names()
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"maxconn", backend, `(did you mean "connection_limit"?)`},
		{"backup", backend, `(did you mean "priority"?)`},
		{"inter", verify, `(did you mean "interval"?)`},
		{"inter", backend, "(a health check has interval, rise and fall: sluice check create)"},
		{"balance", service, `(did you mean "routingpolicy"?)`},
		{"server_name", service, `(did you mean "vhost"?)`},
		{"proxy_pass", service, "(a service forwards to its backends: sluice backend create)"},
		{"timeout connect", []string{"contimeout"}, `(did you mean "contimeout"?)`},
		{"slow-start", service, `(did you mean "slowstart"`},
		{"weigth", backend, `(did you mean "weight"?)`},
		{"balance", l4farm.Document.Names(), `(did you mean "algorithm"? routingpolicy is a setting of services of http farms: sluice service set)`},
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
		if got := suggest.For(c.word, c.known); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.word, got, c.want)
		}
	}
}

// Only words that are similar to a name get a suggestion.
func TestNothingIsSuggestedThatIsNotNear(t *testing.T) {
	for _, known := range [][]string{httpfarm.ServiceDocument.Names(), httpfarm.BackendDocument.Names(),
		httpfarm.Document.Names(),
		l4farm.Document.Names(), check.Document.Names()} {
		for _, word := range []string{"nonsense_word", "zzzz", "quixotic", "xy", "", strings.Repeat("vport", 100), "\x00", "größe"} {
			if got := suggest.For(word, known) + suggest.Near(word, known); got != "" {
				t.Errorf("%q: %q", word, got)
			}
		}
	}
}

// A term must lead to an existing field or command.
func TestEachTermLeadsToAFieldThatExists(t *testing.T) {
	fields := append(everyField(), "ip", "max_conns", "server_names", "rise", "fall", "command", "maintenance", "threads", "listen", "certificate")
	for word, term := range suggest.Terms() {
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

func TestAddressesThatServeNotAllClientsAreWarnedOf(t *testing.T) {
	for vip, want := range map[string]string{"::": "IPv6 only", "0.0.0.0": "", "2001:db8::1": "", "127.0.0.1": ""} {
		got := profile.VIPWarning(&farm.Farm{VIP: netip.MustParseAddr(vip)})
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", vip, got, want)
		}
	}
}
