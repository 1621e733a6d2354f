// Command testlog turns `go test -json` into something to read: a line for
// each package, all that a failed test said, and at the end each skipped test
// with its reason. It exits with 1 when anything failed or nothing ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// event is one line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
}

type key struct{ pkg, test string }

type log struct {
	said                    map[key]*strings.Builder
	passed, failed, skipped int
	skips                   []string
	broken                  bool
}

func main() {
	l := log{said: map[key]*strings.Builder{}}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Println(in.Text()) // not from test2json: a message of go itself
			continue
		}
		l.take(e)
	}
	l.end()
}

func (l *log) take(e event) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Print(e.Output)
	case "build-fail":
		l.broken = true
	case "output":
		if e.Test == "" {
			l.packageLine(e.Output)
			return
		}
		if l.said[k] == nil {
			l.said[k] = new(strings.Builder)
		}
		l.said[k].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			l.broken = l.broken || e.Action == "fail"
			return
		}
		l.ended(k, e.Action)
	}
}

// packageLine prints what a package says as a whole, without the parts that
// its result line repeats.
func (l *log) packageLine(s string) {
	if s != "PASS\n" && s != "FAIL\n" && !strings.HasSuffix(s, "[no test files]\n") {
		fmt.Print(s)
	}
}

func (l *log) ended(k key, action string) {
	said := ""
	if b := l.said[k]; b != nil {
		said = b.String()
	}
	delete(l.said, k)
	switch action {
	case "pass":
		l.passed++
	case "fail":
		l.failed++
		fmt.Print(said)
	case "skip":
		l.skipped++
		l.skips = append(l.skips, fmt.Sprintf("%s %s: %s", k.pkg, k.test, reason(said)))
	}
}

// reason is what a skipped test said, on one line.
func reason(said string) string {
	var words []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			words = append(words, line)
		}
	}
	if len(words) == 0 {
		return "no reason given"
	}
	return strings.Join(words, " ")
}

func (l *log) end() {
	for _, b := range l.said { // of a test that never ended
		fmt.Print(b.String())
	}
	if len(l.skips) > 0 {
		fmt.Println("\nSkipped, and why:")
		for _, s := range l.skips {
			fmt.Println("  " + s)
		}
	}
	fmt.Printf("\n%d passed, %d failed, %d skipped\n", l.passed, l.failed, l.skipped)
	if l.failed > 0 || l.broken || l.passed == 0 {
		os.Exit(1)
	}
}
