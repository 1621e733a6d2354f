package httpfarm_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

// A directive that Sluice cannot implement is rejected with the reason. The value that
// applies anyway is accepted and changes nothing.
func TestDirectivesWithoutAMeaningSaySo(t *testing.T) {
	for _, c := range []struct{ taken, refused, says string }{
		{`{"threads":null}`, `{"threads":8}`, "one per CPU"},
		{`{"loglevel":""}`, `{"loglevel":"5"}`, "log_level of /system/global"},
		{`{"control":null}`, `{"control":"/tmp/a.socket"}`, "use the REST API"},
		{`{"certdir":""}`, `{"certdir":"/etc/certs"}`, "list them in certificates"},
		{`{"dhparams":null}`, `{"dhparams":"/etc/dh.pem"}`, "see ecdhcurve"},
		{`{"sslhonorcipherorder":false}`, `{"sslhonorcipherorder":2}`, "AES or ChaCha20 first"},
		{`{"sslhonorcipherorder":"1"}`, `{"sslhonorcipherorder":"yes"}`, "AES or ChaCha20 first"},
		{`{"sslallowclientrenegotiation":0}`, `{"sslallowclientrenegotiation":1}`, "never renegotiate"},
		{`{"sslallowclientrenegotiation":false}`, `{"sslallowclientrenegotiation":2}`, "never renegotiate"},
		{`{"forwardsni":true}`, `{"forwardsni":"false"}`, "httpsb_name"},
		{`{"forwardsni":1}`, `{"forwardsni":0}`, "httpsb_name"},
	} {
		table := &httpfarm.Update
		values, err := table.Decode("", validatetest.Body(t, c.taken))
		before, f := validatetest.HTTPS(), validatetest.HTTPS()
		if err != nil || values.Apply(&f) != nil || !reflect.DeepEqual(f, before) {
			t.Errorf("%s: %v, or it changed something", c.taken, err)
		}
		if _, err := table.Decode("", validatetest.Body(t, c.refused)); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "unknown") {
			t.Errorf("%s: %v", c.refused, err)
		}
	}
	for _, name := range []string{"threads", "forwardsni"} {
		if f := validatetest.HTTPS(); httpfarm.Answer.Answer(&f)[name] != nil || strings.Contains(strings.Join(httpfarm.Document.Names(), " "), name) {
			t.Errorf("%s is answered, or in documents", name)
		}
	}
}
