package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheLongestTestsAreNamed(t *testing.T) {
	var stream strings.Builder
	stream.WriteString(of("a", begins))
	took := func(test string, seconds float64) {
		fmt.Fprintf(&stream, `{"Action":"run","Package":"m/a","Test":"%s"}`+"\n"+`{"Action":"pass","Package":"m/a","Test":"%[1]s","Elapsed":%v}`+"\n", test, seconds)
	}
	took("TestShort", 9.9)
	took("TestWhole/part", 70)
	took("TestWhole", 71)
	for i := range maxLong {
		took(fmt.Sprintf("TestOf%02d", i), float64(10+i))
	}
	stream.WriteString(of("a", pass, okLine, ends) + of("b", whole))
	said, well := runLog(t, skipList{}, stream.String(), "")
	_, list, _ := strings.Cut(said, "Took longest:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	lines := strings.Split(list, "\n")
	if !well || len(lines) != maxLong || lines[0] != "     71 s  m/a TestWhole" || lines[1] != "     24 s  m/a TestOf14" || lines[maxLong-1] != "     11 s  m/a TestOf01" {
		t.Errorf("%v, said\n%s", well, said)
	}
}
