package accesslog

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
)

// keep makes files in the log folder, by their names.
func keep(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, Folder), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, Folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// logFiles returns the files of the log folder with their contents.
func logFiles(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(dir, Folder))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range list {
		out = append(out, f.Name()+" "+strings.ReplaceAll(content(t, dir, f.Name()), "\n", "."))
	}
	return strings.Join(out, ", ")
}

func TestAFileMayHaveItsSizeAndNoByteMore(t *testing.T) {
	for most, want := range map[int64]string{
		3: "shop.log d., shop.log.1 c., shop.log.2 b.",
		4: "shop.log c.d., shop.log.1 a.b.",
		5: "shop.log c.d., shop.log.1 a.b.",
		7: "shop.log d., shop.log.1 a.b.c.",
		8: "shop.log a.b.c.d.",
		1: "shop.log d., shop.log.1 c., shop.log.2 b.", // a line is never cut
	} {
		root, dir := folder(t)
		o := newFile(root, "shop", most, 2)
		for _, text := range []string{"a", "b", "c", "d"} {
			if err := o.write(lineChunk(text)); err != nil {
				t.Fatal(err)
			}
		}
		o.close()
		if got := logFiles(t, dir); got != want {
			t.Errorf("%d bytes: %s, want %s", most, got, want)
		}
		again := newFile(root, "shop", most, 2) // existing content counts
		if err := again.write(lineChunk("e")); err != nil {
			t.Fatal(err)
		}
		again.close()
		if got := content(t, dir, "shop.log"); int64(len(got)) > max(most, 2) {
			t.Errorf("%d bytes, opened again: %q", most, got)
		}
	}
}

// Only the text before the line end of a file without lines is foreign.
func TestOnlyTheTruncatedLineIsRemoved(t *testing.T) {
	x := strings.Repeat
	for name, c := range map[string]struct{ before, want string }{
		"the longest part of a line": {x("x", tailSize), ""},
		"foreign content":            {x("x", tailSize+1), x("x", tailSize+1)},
		"a part behind a line":       {"\n" + x("x", tailSize-1), "\n"},
		"a line out of sight":        {"\n" + x("x", tailSize), "\n" + x("x", tailSize)},
		"whole lines":                {x("x", 2*tailSize) + "\n", x("x", 2*tailSize) + "\n"},
		"a part behind many":         {x("line\n", tailSize) + "par", x("line\n", tailSize)},
	} {
		root, dir := folder(t)
		keep(t, dir, map[string]string{"shop.log": c.before})
		o := newFile(root, "shop", 1<<30, 1)
		if err := o.write(lineChunk("new")); err != nil {
			t.Fatal(err)
		}
		size := o.size
		o.close()
		if got := content(t, dir, "shop.log"); got != c.want+"new\n" || size != int64(len(got)) {
			t.Errorf("%s: %d bytes, want %d, ends with %.20q; it counts %d", name, len(got), len(c.want)+4, got[max(0, len(got)-20):], size)
		}
	}
}

func TestAFileThatCanNeitherBeRotatedNorOpenedLosesTheLine(t *testing.T) {
	root, dir := folder(t)
	o := newFile(root, "shop", 4, 2)
	defer o.close()
	if err := o.write(lineChunk("one")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, Folder)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := o.write(lineChunk("two"))
	if _, stays := errors.AsType[notRotated](err); err == nil || stays || !strings.Contains(err.Error(), "rotate log/shop.log: ") || !strings.Contains(err.Error(), "open log/shop.log: ") {
		t.Errorf("want a lost line and the cause, got: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := o.write(lineChunk("three")); err != nil || logFiles(t, dir) != "shop.log three." {
		t.Errorf("afterwards: got %v, %s, want %s", err, logFiles(t, dir), "shop.log three.")
	}
}

func TestNonRegularOutputIsClosed(t *testing.T) {
	root, dir := folder(t)
	keep(t, dir, nil)
	if err := os.Mkdir(filepath.Join(dir, Folder, "shop.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	o := newFile(root, "shop", 100, 1)
	descriptors := func() int { list, _ := os.ReadDir("/proc/self/fd"); return len(list) }
	before := descriptors()
	for range 5 {
		if err := o.write(lineChunk("x")); err == nil || !strings.Contains(err.Error(), "open log/shop.log: it is no regular file") {
			t.Fatal(err)
		}
	}
	if after := descriptors(); after != before || o.f != nil {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// A renamed farm keeps its files.
func TestRenamedLogMovesItsFilesUnlessTheyExist(t *testing.T) {
	for name, c := range map[string]struct {
		files     map[string]string
		was, keep int
		want      string
		broken    string
	}{
		"all of them":          {files: map[string]string{"a.log": "1\n", "a.log.1": "2\n", "a.log.2": "3\n"}, was: 2, keep: 2, want: "b.log 1.new., b.log.1 2., b.log.2 3."},
		"as many as were kept": {files: map[string]string{"a.log": "1\n", "a.log.1": "2\n", "a.log.2": "3\n", "a.log.3": "4\n"}, was: 2, keep: 1, want: "a.log.3 4., b.log 1.new., b.log.1 2., b.log.2 3."},
		"as many as will be":   {files: map[string]string{"a.log": "1\n", "a.log.1": "2\n", "a.log.2": "3\n"}, was: 1, keep: 2, want: "b.log 1.new., b.log.1 2., b.log.2 3."},
		"none":                 {was: 2, keep: 2, want: "b.log new."},
		"with a gap":           {files: map[string]string{"a.log.2": "3\n"}, was: 2, keep: 2, want: "b.log new., b.log.2 3."},
		"not over others":      {files: map[string]string{"a.log": "1\n", "b.log": "other\n"}, was: 2, keep: 2, want: "a.log 1., b.log other.new."},
		"what is in the way": {files: map[string]string{"a.log": "1\n", "a.log.1": "2\n", "b.log.1/x": ""}, was: 2, keep: 2,
			want: "a.log.1 2., b.log 1.new., b.log.1 ", broken: "rename log/a.log.1: "},
	} {
		root, dir := folder(t)
		keep(t, dir, nil)
		for file, text := range c.files {
			if in, _, is := strings.Cut(file, "/"); is {
				if err := os.Mkdir(filepath.Join(dir, Folder, in), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			keep(t, dir, map[string]string{file: text})
		}
		var log logtest.Log
		counts := new(counts)
		s := newSink(target{kind: farm.LogFile, name: "a"}, newFile(root, "a", 100, c.was), counts, func(uint64) {}, slog.New(slog.NewTextHandler(&log, nil)))
		s.rename(target{kind: farm.LogFile, name: "b", size: 1, keep: uint32(c.keep)})
		l := s.line()
		l.bytes = append(l.bytes, "new\n"...)
		s.added()
		s.close()
		<-s.done
		got := logFiles(t, dir)
		if at := strings.Index(got, "b.log.1 read"); at >= 0 {
			got = got[:at+len("b.log.1 ")] // a folder
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if text := log.String(); strings.Contains(text, "access log keeps its old lines under the old name") != (c.broken != "") || !strings.Contains(text, c.broken) || c.broken != "" && !strings.Contains(text, "from=log/a.log to=log/b.log") {
			t.Errorf("%s: the log is %s", name, text)
		}
	}
}

func TestMissingOutputStopsOnlyItsFarm(t *testing.T) {
	cfg := config(func(l *farm.AccessLog) { l.Sink = farm.LogStdout }) // the process has none
	cfg.Farms = append(cfg.Farms, config(nil).Farms[0])
	cfg.Farms[1].ID, cfg.Farms[1].Name = 2, "other"
	a := newAppliance(t, cfg)
	a.put(nil)
	a.entry.Farm = 2
	if !a.writer.Put(&a.entry) {
		t.Fatal("the ring is full")
	}
	a.lines("other.log", 1)
	if text := a.log.String(); !strings.Contains(text, `"a farm has no access log" farm=shop cause="there is no standard output"`) {
		t.Errorf("the log is %s", text)
	}
}

// A name is masked as a whole or by one of its parts, in every spelling.
func TestNamesAreMaskedByTheirParts(t *testing.T) {
	r := newRedaction([]string{"token", "pass"})
	for name, want := range map[string]bool{
		"token": true, "TOKEN": true, "to%6Ben": true, "to%6ben": true, "toke": false, "tokens": false, "": false, "%": false, "%7": false, "toke%6": false, "token%": false,
		"a%20b": false, "a[token]": true, "token[a]": true, "a[b][token]": true, "a[b]": false, "[": false, "a[": false, "[token": true, "a[tokens]": false, "%74oken": true, "toke%6e": true, "tok%65n[": true, "p%61ss": true, "%zzpass": false,
	} {
		if got := r.hides([]byte(name)); got != want {
			t.Errorf("%q is masked: got %v, want %v", name, got, want)
		}
	}
}
