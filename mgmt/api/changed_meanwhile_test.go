package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
)

// meanwhile is a body that calls happens before its first byte. By then the handler has
// read the configuration.
type meanwhile struct {
	happens func()
	io.Reader
}

func (m *meanwhile) Read(b []byte) (int, error) {
	if m.happens != nil {
		m.happens()
		m.happens = nil
	}
	return m.Reader.Read(b)
}

// sendBody sends a request with the valid key and that body.
func (a *appliance) sendBody(method, path string, body io.Reader, headers ...string) reply {
	a.t.Helper()
	r := httptest.NewRequest(method, "https://lb.example:444"+api.Base+path, body)
	r.Header.Set("ZAPI_KEY", a.key)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.ContentLength = -1
	w := httptest.NewRecorder()
	a.server.Handler().ServeHTTP(w, r)
	out := reply{status: w.Code, header: w.Header(), raw: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &out.body); err != nil {
		a.t.Fatalf("%s %s: %v\n%s", method, path, err, out.raw)
	}
	return out
}

// sendTo sends a request with that Host.
func (a *appliance) sendTo(host, method, path string, headers ...string) reply {
	a.t.Helper()
	r := httptest.NewRequest(method, "https://"+host+api.Base+path, nil)
	r.Header.Set("ZAPI_KEY", a.key)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.server.Handler().ServeHTTP(w, r)
	return reply{status: w.Code, header: w.Header(), raw: w.Body.String()}
}

// A change applies to the object that the handler examined, or fails. It never applies to a
// successor of that object.
func TestAChangeMeetsWhatWasLookedAt(t *testing.T) {
	const farmGone, serviceGone, backendGone, ruleGone, ruleMoved = "DELETE /farms/shop", "DELETE /farms/shop/services/web", "DELETE /farms/shop/services/web/backends/0", "DELETE /farms/shop/addheader/0", `PUT /farms/shop/addheader/0 {"header":"X-Other: 1"}`
	const otherKind = `POST /farms {"farmname":"shop","profile":"l4xnat","vip":"192.0.2.10","vport":"80"}`
	var all strings.Builder
	for _, c := range []struct {
		request string
		happens []string
	}{
		{`PUT /farms/shop {"contimeout":5}`, []string{farmGone}}, {`PUT /farms/shop {"contimeout":5}`, []string{farmGone, otherKind}},
		{`PUT /farms/shop {"reqtimeout":5}`, []string{farmGone, otherKind}}, {`PUT /farms/dns {"algorithm":"leastconn"}`, []string{"DELETE /farms/dns", `POST /farms {"farmname":"dns","profile":"http","vip":"192.0.2.10","vport":53}`}},
		{`PUT /farms/shop/actions {"action":"stop"}`, []string{farmGone}}, {`PUT /farms/shop/actions {"action":"restart"}`, []string{farmGone}},
		{`POST /farms {"farmname":"b","profile":"http","vip":"192.0.2.10","vport":81,"copy_from":"shop"}`, []string{farmGone}},
		{`POST /farms/shop/services {"id":"x"}`, []string{farmGone}}, {`POST /farms/shop/services {"id":"x"}`, []string{farmGone, otherKind}},
		{`PUT /farms/shop/services/web {"urlp":"^/"}`, []string{serviceGone}}, {`PUT /farms/shop/services/web {"urlp":"^/"}`, []string{farmGone, otherKind}}, {`POST /farms/shop/services/web/actions {"position":0}`, []string{serviceGone}},
		{`POST /farms/shop/services/web/backends {"ip":"10.0.0.9","port":80}`, []string{serviceGone}}, {`POST /farms/shop/services/web/backends {"ip":"10.0.0.9","port":80}`, []string{farmGone}},
		{`PUT /farms/shop/services/web/backends/0 {"weight":2}`, []string{backendGone}}, {`PUT /farms/shop/services/web/backends/0 {"weight":2}`, []string{serviceGone}},
		{`PUT /farms/shop/services/web/backends/0/maintenance {"action":"up"}`, []string{backendGone}}, {`PUT /farms/shop/services/web/backends/1 {"weight":2}`, []string{backendGone}},
		{`POST /farms/shop/addheader {"header":"X: 1"}`, []string{farmGone}}, {`PUT /farms/shop/addheader/0 {"header":"X: 1"}`, []string{ruleGone}}, {`PUT /farms/shop/addheader/0 {"header":"X: 1"}`, []string{ruleMoved}},
		{`PUT /farms/shop/addheader/0 {"header":"X: 1"}`, []string{farmGone}}, {`PUT /farms/shop/services/web/rewriteurl/0 {"last":true}`, []string{serviceGone}}, {`POST /farms/shop/services/web/rewriteurl {"pattern":"a","replace":"b"}`, []string{serviceGone}},
		{`POST /farms/shop/services/web/sessions {"id":0,"session":"c"}`, []string{backendGone}}, {`POST /farms/shop/services/web/sessions {"id":0,"session":"c"}`, []string{serviceGone}},
		{`POST /farms/shop/certificates {"file":"api.pem"}`, []string{farmGone}}, {`POST /farms/dns/backends {"ip":"10.0.0.9"}`, []string{"DELETE /farms/dns"}},
	} {
		a := newAppliance(t)
		a.shop(2)
		a.rules()
		a.dns(1)
		a.must(200, "PUT", "/farms/shop/services/web", `{"persistence":"COOKIE","sessionid":"SID"}`)
		method, rest, _ := strings.Cut(c.request, " ")
		path, body, _ := strings.Cut(rest, " ")
		r := a.sendBody(method, path, &meanwhile{Reader: strings.NewReader(body), happens: func() {
			for _, one := range c.happens {
				method, rest, _ := strings.Cut(one, " ")
				path, body, _ := strings.Cut(rest, " ")
				if r := a.do(method, path, body); r.status >= 300 {
					t.Fatalf("%s: %s", one, r.raw)
				}
			}
		}})
		fmt.Fprintf(&all, "%s, after %s\n  %s\n", c.request, strings.Join(c.happens, " and "), r.line(t))
	}
	golden(t, "changed_meanwhile", all.String())
}

// torn is a body that ends early.
type torn struct{}

func (torn) Read([]byte) (int, error) { return 0, errors.New("torn") }

func TestBodiesOfUnknownLengthAreBoundedToo(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	long := func(n int) io.Reader { return strings.NewReader(`{"alias":"` + strings.Repeat("a", n-12) + `"}`) }
	const path = web + "/backends/0"
	a.sendBody("PUT", path, long(1<<20)).refused(t, 400, "alias")
	a.sendBody("PUT", path, long(1<<20+1)).refused(t, 413, "the body is too large: allowed are 1048576 bytes")
	a.sendBody("PUT", path, torn{}).refused(t, 400, "the body is incomplete")
	a.sendBody("PUT", path, torn{}, "Idempotency-Key", "1").refused(t, 400, "the body is incomplete")
	fields := func(n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(`"f%d":1`, i))
		}
		return "{" + strings.Join(out, ",") + "}"
	}
	a.do("PUT", path, fields(256)).refused(t, 400, "unknown field")
	a.do("PUT", path, fields(257)).refused(t, 400, "the body has more than 256 fields")
	a.do("PUT", path, `{"alias":[`+strings.Repeat("1,", 1023)+`1]}`).refused(t, 400, "alias must be")
	a.do("PUT", path, `{"alias":[`+strings.Repeat("1,", 1024)+`1]}`).refused(t, 400, "alias: the list has more than 1024 items")
	a.do("POST", "/keys", `{"`+strings.Repeat("a", 64)+`":1}`).refused(t, 400, "unknown field "+strings.Repeat("a", 64)+";")
	a.do("POST", "/keys", `{"`+strings.Repeat("a", 65)+`":1}`).refused(t, 400, "unknown field "+strings.Repeat("a", 64)+"…;")
	if r := a.do("GET", "/"+strings.Repeat("a", 4000), ""); r.status != 404 || len(r.raw) > 1000 {
		t.Errorf("a long path: %d, %d bytes", r.status, len(r.raw))
	}
	r := httptest.NewRequest(http.MethodGet, "https://lb.example:444"+api.Base+"/farms", nil)
	r.Host = "lb.example:x y"
	w := httptest.NewRecorder()
	if a.server.Handler().ServeHTTP(w, r); w.Code != 400 || !strings.Contains(w.Body.String(), "the Host header is broken") {
		t.Errorf("a broken host: %d %s", w.Code, w.Body)
	}
}
