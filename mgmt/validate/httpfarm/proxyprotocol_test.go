package httpfarm_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestIntroductionsNeedTrustedPeers(t *testing.T) {
	for body, want := range map[string]string{
		`{"proxyprotocol_in":"required"}`:                             "proxyprotocol_in is allowed only with trusted",
		`{"proxyprotocol_in":"yes","trusted":"::1"}`:                  `proxyprotocol_in must be one of off, optional, required, got "yes"`,
		`{"proxyprotocol_in":"optional","trusted":[]}`:                "send trusted with it",
		`{"proxyprotocol_in":"off"}`:                                  "",
		`{"proxyprotocol_in":null}`:                                   "",
		`{"proxyprotocol_in":"optional","trusted":["192.0.2.0/24"]}`:  "",
		`{"trusted":["192.0.2.0/24"], "proxyprotocol_in":"required"}`: "",
	} {
		f := farm.Farm{HTTP: farm.DefaultHTTP()}
		_, err := validatetest.Change(t, &httpfarm.Update, &f, body)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", body, err, want)
		}
	}
	f := farm.Farm{Name: "a", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("192.0.2.9"), VPort: 80, HTTP: farm.DefaultHTTP()}
	f.HTTP.ProxyIn = farm.ProxyInRequired
	if err := validate.Config(&farm.Config{Farms: []farm.Farm{f}}); err == nil || !strings.Contains(err.Error(), "proxyprotocol_in is allowed only with trusted") {
		t.Errorf("removed trusted senders: %v", err)
	}
}

// Removing the last trusted address requires disabling the dependent fields in the same
// body.
func TestHeadersAreSwitchedOffWithTheAddressesTheyAreBelievedFrom(t *testing.T) {
	for text, off := range map[string]bool{`{"trusted":[],"proxyprotocol_in":"off"}`: true, `{"trusted":[],"proxyprotocol_in":null}`: true, `{"trusted":[]}`: false} {
		h := farm.DefaultHTTP()
		h.Trusted, h.ProxyIn = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, farm.ProxyInRequired
		f := farm.Farm{Name: "a", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), VPort: 80, HTTP: h}
		if _, err := validatetest.Change(t, &httpfarm.Update, &f, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := validate.Config(&farm.Config{Farms: []farm.Farm{f}}); (err == nil) != off || off != (h.ProxyIn == "") {
			t.Errorf("%s: proxyprotocol_in %q, %v", text, h.ProxyIn, err)
		}
	}
}
