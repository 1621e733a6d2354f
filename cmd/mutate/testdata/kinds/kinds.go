// Package kinds has code of every kind faults are made in, or are not; each line
// says which.
package kinds

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"
	"time"
)

const (
	first = iota
	second
)

const (
	shifted         = 1 << 4          //: constant 1->(1 + 1); constant 4->(4 + 1)
	masked          = 6 & 3           //: constant 6->(6 * 2); constant 3->(3 * 2)
	letter          = 'a'             //: constant 'a'->('a' + 1)
	half            = 0.5             //: constant 0.5->(0.5 * 2)
	none            = 0               //: constant 0->1
	rights          = 0o640           //: constant 0o640->(0o640 | 0o066)
	pause           = 3 * time.Second //: constant 3->(3 * 10)
	wait    float64 = 2               //: constant 2->(2 * 2)
	name            = "7"
)

var long time.Duration = 5 //: constant 5->(5 * 10)

var layout [4]int

type broken struct{ code int }

func (b broken) Error() string { return fmt.Sprint(b.code + 1) }

func cut(s []int, n int) (int, error) {
	if n == 0 { //: check n == 0->false && (n == 0); condition ==->!=; bound 0->1
		return 1, errors.New("none")
	}
	if n > 0 && n != 4 || n <= -9 { //: condition n > 0 && n != 4 || n <= -9->!(n > 0 && n != 4 || n <= -9); check n > 0 && n != 4 || n <= -9->false && (n > 0 && n != 4 || n <= -9); condition ||->&&; condition &&->||; bound >->>=; bound 0->1; condition !=->==; bound 4->(4 + 1); bound 4->(4 - 1); bound <=-><; constant 9->(9 * 2)
		return s[3], nil //: bound 3->(3 + 1); bound 3->(3 - 1)
	}
	if n < 1 { //: bound <-><=; bound 1->(1 + 1); bound 1->(1 - 1)
		slog.Warn("small", "n", 2)
	}
	if n >= 2 { //: condition n >= 2->!(n >= 2); bound >=->>; bound 2->(2 + 1); bound 2->(2 - 1)
		n++ //: assignment n++->(left out)
	} else {
		n = 3 //: assignment n = 3->(left out) ; constant 3->(3 * 2)
	}
	for n < 7 { //: condition n < 7->!(n < 7); bound <-><=; bound 7->(7 + 1); bound 7->(7 - 1)
		n += 2 //: assignment n += 2->(left out) ; constant 2->(2 * 2)
	}
	for i := 0; i < n; i++ { //: condition i < n->!(i < n); constant 0->1; bound <-><=
		s = s[1:] //: assignment s = s[1:]->(left out) ; bound 1->(1 + 1); bound 1->(1 - 1)
	}
	for range s {
		if n == 5 { //: check n == 5->false && (n == 5); condition ==->!=; bound 5->(5 + 1); bound 5->(5 - 1)
			continue
		}
		if n == 6 { //: condition ==->!=; bound 6->(6 + 1); bound 6->(6 - 1)
			panic("six" + name[1:])
		}
	}
	_ = n
	return n, nil
}

func given(f *os.File, list []string) (bool, error) {
	defer f.Close()                      //: defer defer f.Close()->(left out)
	f.Sync()                             //: give-back f.Sync()->(left out)
	f.Chdir()                            //: call f.Chdir()->(left out)
	os.Rename(list[0], name)             //: call os.Rename(list[0], name)->(left out) ; argument list[0], name->name, list[0]; bound 0->1
	_ = strings.EqualFold(list[0], name) //: bound 0->1
	list = append(list, "a", "b")        //: assignment list = append(list, "a", "b")->(left out)
	_ = make([]int, 1, 2)
	_ = min(len(list), 3) //: constant 3->(3 * 2)
	both(name, name)      //: call both(name, name)->(left out)
	many(list[0], name)   //: call many(list[0], name)->(left out) ; argument list[0], name->name, list[0]; bound 0->1
	many(list...)         //: call many(list...)->(left out)
	if len(list) > 9 {    //: condition len(list) > 9->!(len(list) > 9); check len(list) > 9->false && (len(list) > 9); bound >->>=; bound 9->(9 + 1); bound 9->(9 - 1)
		return true, errors.New("many")
	}
	true := len(list) == 8 //: condition ==->!=; bound 8->(8 + 1); bound 8->(8 - 1)
	log.Print(1)
	_ = refused("%d", 3)
	_ = joined(nil, errors.Join())
	_ = func(a, b int) int { return a }(1, 2) //: argument 1, 2->2, 1; constant 1->(1 * 2); constant 2->(2 * 2)
	return true, nil
}

func truth() bool { return !false } //: constant false->true

func both(a, b string)         {}
func many(all ...string)       {}
func joined(all ...error) bool { return true } //: constant true->false

func refused(format string, a ...any) *broken { return &broken{4} } //: constant 4->(4 * 2)

func beside() (int, *broken) { return 7, refused("%d", 3) }

func late(ch chan int) (n int) {
	select {
	case n = <-ch:
	case <-time.After(2): //: constant 2->(2 * 10)
	}
	return n
}
