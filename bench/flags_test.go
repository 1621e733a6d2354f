package main

import (
	"io"
	"testing"
	"time"
)

func TestFlagsAreChecked(t *testing.T) {
	for _, bad := range [][]string{
		{"-rounds", "0"}, {"-slice", "1ms"}, {"-work", "some"}, {"-client", "ab"}, {"stray"}, {"-nothing"},
	} {
		if _, err := parse(bad, io.Discard); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	c, err := parse([]string{"-quick", "-exec", "a=x {port}", "-exec", "b=y"}, io.Discard)
	if err != nil || c.rounds != 2 || c.slice != 300*time.Millisecond || len(c.commands) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestContestantsAreFoundOrNamed(t *testing.T) {
	c, err := parse([]string{"-peers", "", "-exec", "other=/bin/true {port}"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	line, err := c.lineup()
	if err != nil || len(line) != 1 || line[0].Name != "other" {
		t.Errorf("%+v, %v", line, err)
	}
	for _, bad := range [][]string{
		{"-peers", "apache"}, {"-peers", ""}, {"-peers", "sluice", "-sluice", "no/such"}, {"-peers", "", "-exec", "x"},
		{"-peers", "", "-exec", "a=x", "-exec", "a=y"},
	} {
		c, err := parse(bad, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.lineup(); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
