package scripts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/scripts"
)

const enough = time.Minute

func happened(kind event.Kind, facts ...string) event.Event {
	return event.Event{Kind: kind, Facts: facts}
}

func TestScriptGetsTheEventsOfItsName(t *testing.T) {
	h := newHouse(t, enough)
	for _, name := range []string{"on-farm-start", "on-farm-start.mail", "on-any.log", "on-farm-stop", "on-farm", "dns.sh", "on-farm-startx"} {
		h.put(name, `echo "$1 $SLUICE_EVENT $SLUICE_TIME $SLUICE_FARM" > ran.$(basename $0)`)
	}
	h.Tell(happened(event.FarmStart, "SLUICE_FARM=$(id) x"))
	h.done()
	for _, name := range []string{"on-farm-start", "on-farm-start.mail", "on-any.log"} {
		if got := h.wrote("ran." + name); got != "farm-start farm-start 2026-01-02T03:04:05Z $(id) x\n" {
			t.Errorf("%s: got %q, want %q", name, got, "farm-start farm-start 2026-01-02T03:04:05Z $(id) x\n")
		}
	}
	for _, name := range []string{"on-farm-stop", "on-farm", "dns.sh", "on-farm-startx"} {
		if got := h.wrote("ran." + name); got != "" {
			t.Errorf("%s: got %q, want \"\"", name, got)
		}
	}
	if v := h.view("on-farm"); !strings.Contains(v.Problem, `"farm" is no event`) || !strings.Contains(v.Problem, "backend-down") {
		t.Errorf("a script of no event: %+v", v)
	}
	if v := h.view("on-any.log"); v.Event != "any" || v.Problem != "" || v.Calls != 1 || v.Failed != 0 || len(v.Runs) != 1 || v.Running || v.Waiting != 0 {
		t.Errorf("%+v", v)
	}
	list, lost := h.List()
	if len(list) != 6 || lost != 0 {
		t.Errorf("%d scripts: %+v, %d lost", len(list), list, lost)
	}
}

func TestAScriptReadsTheEventAsJSON(t *testing.T) {
	h := newHouse(t, enough)
	h.put("on-backend-down", `cat > read; echo "$SLUICE_SEVERITY $SLUICE_TEXT" > env`)
	e := happened(event.BackendDown, event.Facts("FARM", "shop", "BACKEND", "10.0.0.1", "BACKEND_PORT", "80", "NUMBER", "1", "REASON", `"$(id)`+"\n")...)
	e.Severity = event.Warning
	h.Tell(e)
	h.done()
	want := `{"kind":"backend-down","severity":"warning","time":"2026-01-02T03:04:05Z","farm":"shop","backend":"10.0.0.1:80","text":"backend 1 (10.0.0.1:80) of farm shop is down: \"$(id)\n",` +
		`"facts":{"backend":"10.0.0.1","backend_port":"80","farm":"shop","number":"1","reason":"\"$(id)\n"}}` + "\n"
	if got := h.wrote("read"); got != want {
		t.Errorf("read %s\nwant %s", got, want)
	}
	if got := h.wrote("env"); got != "warning backend 1 (10.0.0.1:80) of farm shop is down: \"$(id)\n\n" {
		t.Errorf("%q", got)
	}
}

func TestScriptGetsEventsOneByOne(t *testing.T) {
	h := newHouse(t, enough)
	h.put("on-any", `mkdir lock || echo two at once >> order; echo $1 >> order; rmdir lock`)
	want := ""
	kinds := event.Kinds()
	for _, k := range kinds {
		h.Tell(happened(k))
		want += string(k) + "\n"
	}
	h.done()
	if got := h.wrote("order"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if v := h.view("on-any"); v.Calls != len(kinds) || len(v.Runs) != 5 || v.Runs[0].Event != kinds[len(kinds)-1] || v.Runs[4].Event != kinds[len(kinds)-5] {
		t.Errorf("remembered: %+v", v)
	}
}

func TestRow29HangingScriptDelaysNoOther(t *testing.T) {
	h := newHouse(t, enough)
	h.put("on-farm-start.hangs", "echo $$ >> pids; sleep 300")
	h.put("on-farm-start.quick", "echo ran >> quick")
	for range 3 {
		h.Tell(happened(event.FarmStart))
	}
	h.eventually("the quick script waits for the other one", func() bool { return strings.Count(h.wrote("quick"), "ran") == 3 })
	h.eventually("it does not hang", func() bool { return h.wrote("pids") != "" })
	if v := h.view("on-farm-start.hangs"); !v.Running || v.Waiting != 2 || v.Calls != 0 {
		t.Errorf("%+v", v)
	}
	h.closeNow()
	if v := h.view("on-farm-start.hangs"); v.Running || v.Waiting != 0 || v.Failed != 1 {
		t.Errorf("after the end: %+v", v)
	}
	if strings.Count(h.wrote("pids"), "\n") != 1 {
		t.Error("it was called for events that still waited at the end")
	}
	h.Tell(happened(event.FarmStart))
	h.closeNow()
	if v := h.view("on-farm-start.hangs"); v.Calls != 1 || v.Running {
		t.Errorf("called after the end: %+v", v)
	}
}

func TestRow29ScriptResultsAreListedAndLogged(t *testing.T) {
	h := newHouse(t, time.Second)
	h.put("on-farm-stop.hangs", "sleep 300")
	h.put("on-farm-stop.signal", "kill -SEGV $$")
	h.put("on-farm-stop.prints", "echo first; head -c 1000000000 /dev/zero")
	h.put("on-farm-stop.fails", "echo no mail server; exit 4")
	h.Tell(happened(event.FarmStop))
	h.eventually("they did not end", func() bool {
		n := 0
		list, _ := h.List()
		for _, v := range list {
			n += v.Calls
		}
		return n == 4
	})
	for name, want := range map[string]string{"hangs": "not done within 1s", "signal": "segmentation fault", "fails": "exit status 4"} {
		v := h.view("on-farm-stop." + name)
		if v.Failed != 1 || !strings.Contains(v.Runs[0].Failure, want) {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := h.view("on-farm-stop.fails"); v.Runs[0].Output != "no mail server" {
		t.Errorf("%+v", v)
	}
	if v := h.view("on-farm-stop.prints"); len(v.Runs) != 1 || !strings.HasPrefix(v.Runs[0].Output, "first") || len(v.Runs[0].Output) > 1000 {
		t.Errorf("%d runs", len(v.Runs))
	}
	h.logged(`msg="script failed" script=on-farm-stop.fails event=farm-stop output="no mail server" reason="exit status 4"`, 1)
}

func TestEventsBeyondTheQueueAreCounted(t *testing.T) {
	h := newHouse(t, enough)
	h.put("on-backend-up", "touch began; sleep 300")
	h.Tell(happened(event.BackendUp))
	h.eventually("it did not begin", func() bool { _, err := os.Stat(filepath.Join(h.folder, "began")); return err == nil })
	for range 70 {
		h.Tell(happened(event.BackendUp))
	}
	h.eventually("nothing was dropped", func() bool { return h.view("on-backend-up").Lost == 6 })
	if v := h.view("on-backend-up"); v.Waiting != 64 {
		t.Errorf("%d wait", v.Waiting)
	}
	h.logged("a script is not told of all events", 1)
}

func TestUnprocessedEventsAreBounded(t *testing.T) {
	h := newHouse(t, enough)
	h.must(os.Remove(h.folder)) // no scripts
	const told = 200_000
	for range told {
		h.Tell(happened(event.BackendDown))
	}
	h.done()
	if _, lost := h.List(); lost > 0 {
		h.logged("too many came at once", 1)
	} else {
		h.logged("too many came at once", 0) // this machine processed events as fast as they came
	}
}

func TestForeignScriptsAreNotCalled(t *testing.T) {
	h := newHouse(t, enough)
	h.put("on-any", "touch ran")
	h.must(os.Chmod(filepath.Join(h.folder, "on-any"), 0o722))
	h.put("on-any.link", "")
	h.must(os.Remove(filepath.Join(h.folder, "on-any.link")))
	h.must(os.Symlink("/bin/true", filepath.Join(h.folder, "on-any.link")))
	for range 3 {
		h.Tell(happened(event.FarmStop))
	}
	h.done()
	if v := h.view("on-any"); v.Calls != 0 || !strings.Contains(v.Problem, "others may write it") {
		t.Errorf("%+v", v)
	}
	if v := h.view("on-any.link"); v.Calls != 0 || !strings.Contains(v.Problem, "links are not followed") {
		t.Errorf("%+v", v)
	}
	h.logged("script is not called", 2)
}

func TestUnreadableFolderIsLoggedOnce(t *testing.T) {
	for _, above := range []bool{false, true} {
		h := newHouse(t, enough)
		file := h.folder
		if above {
			file = filepath.Dir(file)
		}
		h.must(os.RemoveAll(file))
		h.must(os.WriteFile(file, nil, 0o600))
		for range 2 {
			h.Tell(happened(event.FarmStop))
		}
		h.done()
		h.logged("the folder cannot be read", 1)
	}
}

func TestScriptsPerEventAreBounded(t *testing.T) {
	h := newHouse(t, enough)
	for i := range scripts.MaxScripts + 3 {
		h.put(fmt.Sprintf("on-any.%02d", i), "echo x >> ran")
	}
	h.Tell(happened(event.FarmStop))
	h.Tell(happened(event.FarmStop))
	h.done()
	if n := strings.Count(h.wrote("ran"), "x"); n != 2*scripts.MaxScripts {
		t.Errorf("%d runs", n)
	}
	h.logged("some scripts are not called", 1)
}
