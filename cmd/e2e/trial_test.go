package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// A guarded change that adds a failing backend is measured by its responses and reverted
// automatically.
func TestFailingGuardedChangeIsReverted(t *testing.T) {
	who := identity{name: "who tests"}
	a := start(t, who, dataDir(t, who))
	url := a.farm("shop", backend(t, "well"))
	fails := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }))
	t.Cleanup(fails.Close)
	address := fails.Listener.Addr().String()
	if out := a.must("backend", "create", "shop", "all", address, "--guard", "errors<10%,10s"); !strings.Contains(out, "is watched until") {
		t.Errorf("output of the change:\n%s", out)
	}
	failed := 0
	for range 60 {
		if _, err := get(url); err != nil {
			failed++
		}
	}
	if failed < 20 {
		t.Fatalf("only %d of 60 requests failed: the test would check too little", failed)
	}
	sysnettest.Eventually(t, func() (string, bool) {
		said := a.must("pending")
		return said, strings.Contains(said, "No change is pending.")
	})
	reason := regexp.MustCompile(`errors \d+(\.\d+)?% \(\d+ of \d+ answers\) is not errors<10%`)
	for command, outcome := range map[string]string{"history": "back to revision 3", "audit": "went back", "pending": "went back"} {
		if out := a.must(command); !reason.MatchString(out) || !strings.Contains(out, outcome) {
			t.Errorf("%s does not tell why:\n%s", command, out)
		}
	}
	if out := a.must("history", "--json"); !strings.Contains(out, `"source": "guard"`) {
		t.Errorf("history does not name the guard:\n%s", out)
	}
	if out := a.must("farm", "show", "shop"); strings.Contains(out, address[strings.LastIndex(address, ":")+1:]) {
		t.Errorf("the backend still exists:\n%s", out)
	}
	for range 20 {
		wantAnswer(t, url, "well")
	}
}
