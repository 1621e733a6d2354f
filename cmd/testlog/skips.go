package main

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// A skip list has a line for each kind of test that may be skipped:
//
//	USER RUN PACKAGE TEST REASON
//
// USER is root, ordinary or any. RUN is plain, race (under the race detector) or any.
// PACKAGE and TEST are names or patterns (path.Match); PACKAGE is without the module
// path. A "*" alone matches every package or test. REASON, the rest of the line, must be
// part of the message of the skipped test, so that a skip for another reason is not
// accepted.
type skip struct {
	user, run, pkg, test, reason string
}

// circumstances are the properties of a run that the list distinguishes.
type circumstances struct{ user, run string }

// here returns the circumstances of a run with these flags of go test.
func here(flags []string) circumstances {
	c := circumstances{"ordinary", "plain"}
	if os.Geteuid() == 0 {
		c.user = "root"
	}
	if slices.Contains(flags, "-race") {
		c.run = "race"
	}
	return c
}

type skipList struct {
	file   string // empty: no skips are allowed
	module string
	at     circumstances
	all    []skip
}

func readSkips(file string, at circumstances) (skipList, error) {
	list := skipList{file: file, at: at}
	if file == "" {
		return list, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return list, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s, err := parseSkip(line)
		if err != nil {
			return list, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		list.all = append(list.all, s)
	}
	return list, in.Err()
}

func parseSkip(line string) (s skip, err error) {
	words := strings.Fields(line)
	if len(words) < 5 {
		return s, fmt.Errorf("%q is not USER RUN PACKAGE TEST REASON", line)
	}
	s = skip{words[0], words[1], words[2], words[3], strings.Join(words[4:], " ")}
	if !slices.Contains([]string{"root", "ordinary", "any"}, s.user) {
		return s, fmt.Errorf("user %q is none of root, ordinary, any", s.user)
	}
	if !slices.Contains([]string{"plain", "race", "any"}, s.run) {
		return s, fmt.Errorf("run %q is none of plain, race, any", s.run)
	}
	for _, pattern := range []string{s.pkg, s.test} {
		if _, err := path.Match(pattern, ""); err != nil {
			return s, fmt.Errorf("%q: %w", pattern, err)
		}
	}
	return s, nil
}

// allows reports whether the list allows a skip with the reason.
func (l skipList) allows(k key, reason string) bool {
	pkg := strings.TrimPrefix(k.pkg, l.module+"/")
	return slices.ContainsFunc(l.all, func(s skip) bool {
		return among(s.user, l.at.user) && among(s.run, l.at.run) &&
			matches(s.pkg, pkg) && matches(s.test, k.test) &&
			strings.Contains(reason, s.reason)
	})
}

// missing returns the reason why a skip is not allowed.
func (l skipList) missing() string {
	if l.file == "" {
		return "nothing may be"
	}
	return fmt.Sprintf("%s has no line for it (user %s, run %s)", l.file, l.at.user, l.at.run)
}

func among(wanted, got string) bool { return wanted == "any" || wanted == got }

func matches(pattern, name string) bool {
	ok, _ := path.Match(pattern, name) // validated by parseSkip
	return ok || pattern == "*"
}
