package family_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/family"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

// overtaken simulates operations whose configuration is changed by others just before the
// client's first writes.
type overtaken struct {
	revision uint64
	often    int      // number of further changes
	expected []string // If-Match values of transactions
}

func (o *overtaken) config(context.Context) (*farm.Config, uint64) {
	return &farm.Config{Farms: []farm.Farm{{Name: "dns", Profile: farm.ProfileL4, L4: &farm.L4{}}}}, o.revision
}

func (o *overtaken) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		io.WriteString(w, `{"params":{},"backends":[]}`)
		return
	}
	o.expected = append(o.expected, r.Header.Get("If-Match"))
	if o.often > 0 {
		o.often--
		o.revision++
	}
	if r.Header.Get("If-Match") != fmt.Sprintf(`"%d"`, o.revision) {
		w.WriteHeader(http.StatusPreconditionFailed)
		io.WriteString(w, `{"message":"changed by someone else"}`)
		return
	}
	io.WriteString(w, `{"params":{}}`)
}

// old serves a request of generation 3.1 as root.
func (o *overtaken) old(t *testing.T, match string) int {
	t.Helper()
	who, _ := rbactest.Book(t, &rbactest.Memory{}).Identity(rbac.Root)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("PUT", "/zapi/v3.1/zapi.cgi/farms/dns/fg", strings.NewReader(`{"fgenabled":"false"}`))
	r.Header.Set("If-Match", match)
	r = family.Lead(w, r.WithContext(rest.WithPrincipal(r.Context(), auth.Principal{Name: "root", Who: who})))
	family.Over(o, o.config, func(a, b string) bool { return a == b }).ServeHTTP(w, r)
	return w.Code
}

func TestAHealthCheckIsReadAnewWhenSomebodyElseWasFirst(t *testing.T) {
	for _, c := range []struct {
		match        string
		often        int
		status, asks int
	}{
		{"", 0, 200, 1},
		{"", 1, 200, 2},
		{"*", 2, 200, 3},
		{"", 99, 412, 5},   // bounded attempts
		{`"7"`, 0, 200, 1}, // the expected revision
		{`"7"`, 1, 412, 1},
		{`"6"`, 0, 412, 1},
	} {
		o := &overtaken{revision: 7, often: c.often}
		if status := o.old(t, c.match); status != c.status || len(o.expected) != c.asks {
			t.Errorf("%q, overtaken %d times: %d after %v", c.match, c.often, status, o.expected)
		}
		for _, match := range o.expected {
			if match == "" || match == "*" {
				t.Errorf("written on top of any revision")
			}
		}
	}
}
