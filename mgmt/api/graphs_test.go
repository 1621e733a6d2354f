package api_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

// recorded records values for an object, every 5 s until now.
func (a *appliance) recorded(object string, names ...string) {
	for i := range 3 {
		var values []timeseries.Value
		for j, name := range names {
			values = append(values, timeseries.Value{Series: name, Value: float64((i + 1) * (j + 1))})
		}
		a.numbers.Write(object, clock().Add(time.Duration(i-2)*5*time.Second), values)
	}
}

// shown returns the values of a response by series.
func shown(r reply) string {
	var out []string
	for _, s := range within(r.body, "params", "series").([]any) {
		values := fmt.Sprint(within(s.(map[string]any), "values"))
		out = append(out, within(s.(map[string]any), "name").(string)+values)
	}
	return strings.Join(out, " ")
}

func within(of map[string]any, path ...string) any {
	for _, name := range path[:len(path)-1] {
		of, _ = of[name].(map[string]any)
	}
	return of[path[len(path)-1]]
}

func graphed(t *testing.T) *appliance {
	t.Helper()
	a := newAppliance(t)
	a.must(201, "POST", "/farms", `{"farmname":"shop","profile":"http","vip":"192.0.2.10","vport":80}`)
	a.must(201, "POST", "/farms/shop/services", `{"id":"all"}`)
	for i := range 2 {
		a.must(201, "POST", "/farms/shop/services/all/backends", fmt.Sprintf(`{"ip":"192.0.2.%d","port":80}`, 20+i))
	}
	a.must(201, "POST", "/farms", `{"farmname":"mail","profile":"l4xnat","vip":"192.0.2.10","vport":25}`)
	return a
}

func TestNumbersOverTimeAreServed(t *testing.T) {
	a := graphed(t)
	// In its first seconds a farm has no records.
	for path, want := range map[string]string{
		"/stats/farms/mail/series?last=10s":              "connections[<nil> <nil>] established[<nil> <nil>] pending[<nil> <nil>] bytes_in[<nil> <nil>] bytes_out[<nil> <nil>] errors[<nil> <nil>]",
		"/stats/farms/shop/services/all/series?last=10s": "requests[<nil> <nil>] errors[<nil> <nil>] established[<nil> <nil>]",
	} {
		if got := shown(a.must(200, "GET", path, "")); got != want {
			t.Errorf("%s without records: %s", path, got)
		}
	}
	cfg, _ := a.applier.Current()
	shop := cfg.Farms[0]
	list := shop.Groups()[0].Backends()
	a.recorded(recorder.Farm(shop.ID), "requests", "p99", recorder.OfBackend(list[0].ID, "requests"), recorder.OfBackend(list[1].ID, "requests"), recorder.OfBackend(list[1].ID, "errors"))
	r := a.must(200, "GET", "/stats/farms/shop/series?last=10s", "")
	if got := shown(r); got != "connections[<nil> <nil> <nil>] established[<nil> <nil> <nil>] requests[1 2 3] bytes_in[<nil> <nil> <nil>] bytes_out[<nil> <nil> <nil>] errors[<nil> <nil> <nil>] p50[<nil> <nil> <nil>] p99[2 4 6]" {
		t.Errorf("farm: %s", got)
	}
	if step, start := within(r.body, "params", "step"), within(r.body, "params", "start"); step != 5.0 || start != clock().Add(-10*time.Second).UTC().Format(time.RFC3339) {
		t.Errorf("from %v, every %v", start, step)
	}
	for path, want := range map[string]string{
		"/stats/farms/shop/services/all/series?last=5s":            "requests[14 21] errors[10 15] established[<nil> <nil>]",
		"/stats/farms/shop/services/all/backends/0/series?last=5s": "requests[6 9] errors[<nil> <nil>] established[<nil> <nil>]",
		"/stats/farms/shop/services/all/backends/1/series?last=5s": "requests[8 12] errors[10 15] established[<nil> <nil>]",
	} {
		if got := shown(a.must(200, "GET", path, "")); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	a.recorded(recorder.Interface("eth0"), "in", "out")
	at := clock().UTC()
	path := fmt.Sprintf("/stats/system/network/interfaces/eth0/series?from=%s&to=%s", at.Add(-10*time.Second).Format(time.RFC3339), at.Add(-5*time.Second).Format(time.RFC3339))
	if got := shown(a.must(200, "GET", path, "")); got != "in[1 2] out[2 4]" {
		t.Errorf("interface: %s", got)
	}
	a.recorded(recorder.System, "cpu")
	for last, step := range map[string]float64{"": 5, "61m": 60, "25h": 300, "8d": 3600} {
		if r := a.must(200, "GET", "/stats/system/series?last="+last, ""); within(r.body, "params", "step") != step {
			t.Errorf("%s: every %v seconds", last, within(r.body, "params", "step"))
		}
	}
	a.must(404, "GET", "/stats/system/network/interfaces/eth9/series", "")
	a.must(404, "GET", "/stats/farms/none/series", "")
	a.must(400, "GET", "/stats/farms/shop/backends/0/series", "") // its backends belong to services
}

func TestTimesThatAreNoneAreRefused(t *testing.T) {
	a := newAppliance(t)
	a.recorded(recorder.System, "cpu")
	for query, want := range map[string]string{
		"last=0s": "last", "last=-5m": "last", "last=367d": "last", "last=1.5d": "last", "last=yesterday": "last", "last=xd": "last: ", "from=noon": "from: ", "to=noon": "to: ",
		"last=5m&from=2026-11-23T12:00:00Z": "only one", "from=2030-11-23T12:00:00Z&to=2030-11-23T12:00:00Z": "before",
	} {
		a.do("GET", "/stats/system/series?"+query, "").refused(t, 400, want)
	}
	a.must(200, "GET", "/stats/system/series?last=366d", "")
}

func TestTheMachineIsShownAsTheFamilyDoes(t *testing.T) {
	a := newAppliance(t)
	r := a.must(200, "GET", "/stats", "")
	for path, want := range map[string]any{
		"cpu usage": 50.0, "cpu user": 50.0, "cpu idle": 50.0, "cpu cores": 2.0, "load Last_1": .5, "load Last_5": 1.25, "load Last_15": 2.0,
		"memory MemTotal": 4096.0, "memory MemFree": 1024.0, "memory MemUsed": 2047.0, "memory Buffers": 1.0, "memory Cached": 1024.0,
		"memory SwapTotal": 1024.0, "memory SwapFree": 512.0, "memory SwapUsed": 512.0, "memory SwapCached": 11.77,
	} {
		part, name, _ := strings.Cut(path, " ")
		if got := within(r.body, "params", part, name); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if got := fmt.Sprint(within(r.body, "params", "network")); got != "map[eth0 in:1024 eth0 out:1 lo in:0 lo out:0]" {
		t.Errorf("network %s", got)
	}
	if host, date := within(r.body, "params", "hostname"), within(r.body, "params", "date"); host == "" || date != clock().Format(time.ANSIC) {
		t.Errorf("%v, %v", host, date)
	}
	for path, want := range map[string]any{"cpu usage": 50.0, "load Last_15": 2.0, "memory MemTotal": 4096.0, "connections connections": 42.0} {
		part, name, _ := strings.Cut(path, " ")
		if got := within(a.must(200, "GET", "/stats/system/"+part, "").body, "params", name); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if got := fmt.Sprint(within(a.must(200, "GET", "/stats/system/network", "").body, "params", "interfaces")); got != "[map[in:1024 interface:eth0 out:1] map[in:0 interface:lo out:0]]" {
		t.Errorf("interfaces %s", got)
	}
}

func picture(t *testing.T, text any) {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(fmt.Sprint(text))
	if err == nil {
		_, err = png.Decode(bytes.NewReader(b))
	}
	if err != nil {
		t.Errorf("%.20v: %v", text, err)
	}
}

func TestGraphsAreListedAndDrawn(t *testing.T) {
	a := graphed(t)
	for path, want := range map[string]string{
		"/graphs":             "farms:[shop mail] interfaces:[eth0 lo] system:[cpu load ram swap map[disks:[root/ root/var/log]]]",
		"/graphs/system":      "system:[cpu load ram swap map[disk:[root/ root/var/log]]]",
		"/graphs/system/disk": "params:[root/ root/var/log]",
		"/graphs/interfaces":  "interfaces:[eth0 lo]",
		"/graphs/farms":       "farms:[shop mail]",
	} {
		r := a.must(200, "GET", path, "")
		delete(r.body, "description")
		if got := fmt.Sprint(r.body); got != "map["+want+"]" {
			t.Errorf("%s: %s", path, got)
		}
	}
	for _, one := range a.must(200, "GET", "/graphs/farms/shop", "").body["graphs"].([]any) {
		picture(t, one.(map[string]any)["graph"]) // without records
	}
	cfg, _ := a.applier.Current()
	a.recorded(recorder.System, seriesNames(recorder.OfSystem)...)
	a.recorded(recorder.Disk("/"), "used", "total")
	a.recorded(recorder.Disk("/var/log"), "used", "total")
	a.recorded(recorder.Interface("eth0"), "in", "out")
	for i := range cfg.Farms {
		a.recorded(recorder.Farm(cfg.Farms[i].ID), seriesNames(recorder.OfFarm(&cfg.Farms[i]))...)
	}
	day := clock().Add(time.Minute - 24*time.Hour).Format("01-02-2006-15:04")
	now := clock().Format("01-02-2006-15:04")
	for _, of := range []string{"system/cpu", "system/load", "system/ram", "system/swap", "system/disk/root/", "system/disk/root", "system/disk/root/var/log", "interfaces/eth0", "farms/shop", "farms/mail"} {
		r := a.must(200, "GET", "/graphs/"+of, "")
		all, _ := r.body["graphs"].([]any)
		if len(all) != 4 {
			t.Fatalf("%s: %.100s", of, r.raw)
		}
		for i, name := range []string{"daily", "weekly", "monthly", "yearly"} {
			one := all[i].(map[string]any)
			if one["frequency"] != name || one["last_time"] != now || one["start_time"] == "" {
				t.Errorf("%s: %v from %v to %v", of, one["frequency"], one["start_time"], one["last_time"])
			}
			picture(t, one["graph"])
		}
		of = strings.TrimSuffix(of, "/")
		r = a.must(200, "GET", "/graphs/"+of+"/daily", "")
		if r.body["start_time"] != day || r.body["last_time"] != now {
			t.Errorf("%s: from %v to %v", of, r.body["start_time"], r.body["last_time"])
		}
		picture(t, r.body["graphs"])
		r = a.must(200, "GET", "/graphs/"+of+"/custom/start/"+day+"/end/"+clock().Format("01-02-06-15:04"), "")
		picture(t, r.body["graphs"])
	}
}

func TestGraphsThatAreNotThere(t *testing.T) {
	a := graphed(t)
	for path, want := range map[string]string{
		"system/none": "cpu, load, ram, swap and disk", "system/disk/root/none": "root/none", "interfaces/eth9": "eth9", "farms/none": "none", "system/cpu/hourly": "daily, weekly",
	} {
		a.do("GET", "/graphs/"+path, "").refused(t, 404, want)
	}
	for path, want := range map[string]string{
		"start/1-1-2026/end/01-01-2026-00:00": "start", "start/01-01-2026-00:00/end/13-01-2026-00:00": "end", "start/01-02-2026-00:00/end/01-02-2026-00:00": "before",
	} {
		a.do("GET", "/graphs/system/cpu/custom/"+path, "").refused(t, 400, want)
	}
}

// Statistics of other groups' farms are hidden.
func TestNumbersOfOthersAreNotShown(t *testing.T) {
	a := graphed(t)
	a.people()
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"monitoring"}`)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"mail"}`)
	cfg, _ := a.applier.Current()
	for i := range cfg.Farms {
		a.recorded(recorder.Farm(cfg.Farms[i].ID), seriesNames(recorder.OfFarm(&cfg.Farms[i]))...)
	}
	if r := a.as("GET", "/graphs", ""); r.status != 200 || fmt.Sprint(r.body["farms"]) != "[mail]" {
		t.Errorf("list: %s", r.raw)
	}
	for name, want := range map[string]int{"shop": 404, "mail": 200} {
		for _, path := range []string{"/graphs/farms/" + name, "/graphs/farms/" + name + "/daily", "/stats/farms/" + name + "/series"} {
			if r := a.as("GET", path, ""); r.status != want {
				t.Errorf("%s: %d", path, r.status)
			}
		}
	}
}

func seriesNames(list []recorder.Series) (out []string) {
	for _, s := range list {
		out = append(out, s.Name)
	}
	return out
}
