package e2e_test

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/geoip/geoiptest"
)

// Answers depend on client locations. The uploaded database survives the death of any
// process and can be replaced.
func TestAnswersDependOnTheClientLocation(t *testing.T) {
	t.Parallel()
	needs(t, "dig")
	who := asOne()
	a := start(t, who, dataDir(t, who))
	port := freePorts(t, 1)[0]
	ln, err := net.Listen("tcp", "0.0.0.0:0") // target of checks, on every address
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	germany := geoiptest.Place{Net: "198.51.100.0/24", Country: "DE", Continent: "EU", At: []float64{48.14, 11.58}}
	server := geoiptest.Place{Net: "127.0.0.14/32", Country: "US", Continent: "NA", At: []float64{40.71, -74}}
	york := geoiptest.Place{Net: "203.0.113.0/24", Country: "US", Continent: "NA", At: []float64{40.71, -74}}
	if out := a.must("geoip", "show"); !strings.Contains(out, "false") {
		t.Errorf("at first:\n%s", out)
	}
	if out, code := a.run("geoip", "upload", file(t, "no database")); code == 0 || !strings.Contains(out, "no database in the MaxMind DB format") {
		t.Errorf("a text is uploaded: %d, %s", code, out)
	}
	a.must("farm", "create", "names", "--profile", "gslb", "vip=127.0.0.1", fmt.Sprintf("vport=%d", port))
	a.must("service", "create", "names", "early", "algorithm=nearest")
	if out := a.must("farm", "show", "names"); !strings.Contains(out, "service early chooses by where clients are") {
		t.Errorf("without a database:\n%s", out)
	}
	a.must("service", "delete", "names", "early")
	a.must("geoip", "upload", file(t, string(geoiptest.Database(t, "Test-City", germany, york, server))))
	if out := a.must("geoip", "find", "198.51.100.7"); !strings.Contains(out, "DE") || !strings.Contains(out, "48.1400,11.5800") || !strings.Contains(out, "198.51.100.0/24") {
		t.Errorf("where an address is:\n%s", out)
	}
	a.must("zone", "create", "names", "example.com")
	for service, backends := range map[string][][]string{
		"geo":     {{"127.0.0.11", "countries=de,AT"}, {"127.0.0.12", "continents=NA"}, {"127.0.0.13"}},
		"nearest": {{"127.0.0.11", "coordinates=48.85, 2.35"}, {"127.0.0.14"}},
	} {
		a.must("service", "create", "names", service, "algorithm="+service, fmt.Sprintf("deftcpport=%d", ln.Addr().(*net.TCPAddr).Port))
		for _, b := range backends {
			a.must(append([]string{"backend", "create", "names", service}, b...)...)
		}
		a.must("record", "create", "names", "example.com", service, "DYNA", service)
	}
	if out, code := a.run("geoip", "delete"); code == 0 || !strings.Contains(out, "is used by the service") {
		t.Errorf("a database in use is deleted: %d, %s", code, out)
	}
	answered := func(what string, want map[string]string) {
		t.Helper()
		within(t, 5*time.Second, what, func() error {
			for ask, want := range want {
				name, client, _ := strings.Cut(ask, " ")
				out, _ := exec.CommandContext(t.Context(), "dig", "@127.0.0.1", "-p", fmt.Sprint(port), "+short", "+tries=1", "+time=1", "+subnet="+client, name+".example.com").Output()
				if got := strings.TrimSpace(string(out)); got != want {
					return errors.New(ask + " is answered with " + got + ", want " + want)
				}
			}
			return nil
		})
	}
	places := map[string]string{
		"geo 198.51.100.0/24": "127.0.0.11", "geo 203.0.113.0/24": "127.0.0.12", "geo 10.0.0.0/8": "127.0.0.13",
		"nearest 198.51.100.0/24": "127.0.0.11", "nearest 203.0.113.0/24": "127.0.0.14",
	}
	answered("clients are answered by their place", places)
	for _, role := range []string{"engine", "mgmt", "engine"} {
		a.kill(role)
		answered("after the death of "+role, places)
	}
	if out := a.must("explain", "names", "geo.example.com", "--from", "198.51.100.7"); !strings.Contains(out, "the client is in DE, EU (48.14, 11.58)") || !strings.Contains(out, "24 bits") {
		t.Errorf("explained:\n%s", out)
	}
	if out := a.must("explain", "names", "nearest.example.com", "--from", "203.0.113.7"); !strings.Contains(out, " 0 km") || !strings.Contains(out, "5836 km") && !strings.Contains(out, "5837 km") {
		t.Errorf("explained:\n%s", out)
	}
	germany.Country, germany.Continent = "US", "NA"
	a.must("geoip", "upload", file(t, string(geoiptest.Database(t, "Moved", germany))))
	answered("by another database", map[string]string{"geo 198.51.100.0/24": "127.0.0.12", "geo 203.0.113.0/24": "127.0.0.13"})
	a.must("farm", "delete", "names")
	a.must("geoip", "delete")
	if out, code := a.run("geoip", "find", "198.51.100.7"); code == 0 || !strings.Contains(out, "there is no GeoIP database") {
		t.Errorf("after it was deleted: %d, %s", code, out)
	}
}
