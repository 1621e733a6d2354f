package shell

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestLinesBecomeWordsAsInShWithoutExpansion(t *testing.T) {
	for line, want := range map[string][]string{
		"": {}, " \t": {}, "farm  list": {"farm", "list"},
		`farm set shop error503='Back in a minute'`: {"farm", "set", "shop", "error503=Back in a minute"},
		`a "b c" 'd "e"' f\ g`:                      {"a", "b c", `d "e"`, "f g"},
		`"a\"b\\c\d" 'a\b' ''`:                      {`a"b\c\d`, `a\b`, ""},
		`a''b""c x""`:                               {"abc", "x"},
		"farm list # all of them":                   {"farm", "list"},
		"# nothing":                                 {},
		"a#b '#c' \\#d":                             {"a#b", "#c", "#d"},
		"a\\\nb c":                                  {"ab", "c"},
		"a \\\n b":                                  {"a", "b"},
		"a 'b\nc'":                                  {"a", "b\nc"},
		"\"a\\\nb\"":                                {"ab"},
		`it\'s`:                                     {"it's"},
		`'it'\''s'`:                                 {"it's"},
		"'$HOME' '*' '`id`'":                        {"$HOME", "*", "`id`"},
	} {
		words, _, err := split(line)
		if err != nil || !slices.Equal(texts(words), want) {
			t.Errorf("%q: %q, %v, want %q", line, texts(words), err, want)
		}
		if sh, err := exec.LookPath("sh"); err == nil && len(want) > 0 {
			out, err := exec.Command(sh, "-c", "set -- "+line+"\nprintf '%s\\0' \"$@\"").Output()
			if err != nil || string(out) != strings.Join(want, "\x00")+"\x00" {
				t.Errorf("%q in sh: %q, %v", line, out, err)
			}
		}
	}
	if words, _, err := split("a $HOME *.go `id`"); err != nil || !slices.Equal(texts(words), []string{"a", "$HOME", "*.go", "`id`"}) {
		t.Errorf("expanded: %q, %v", texts(words), err)
	}
}

func TestOpenQuotesContinueAndShellOperatorsAreRefused(t *testing.T) {
	for _, line := range []string{"a 'b", `a "b`, `a "b\`, `a\`, `"\`} {
		if _, _, err := split(line); !errors.Is(err, errOpen) {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, line := range []string{"export > a", "a | b", "a; b", "a & b", "a < b", "(a)", "errors<1%"} {
		if _, _, err := split(line); err == nil || errors.Is(err, errOpen) || !strings.Contains(err.Error(), "in quotes") {
			t.Errorf("%q: %v", line, err)
		}
	}
	if words, _, err := split("x --guard 'errors<1%,p99<200ms'"); err != nil || words[2].text != "errors<1%,p99<200ms" {
		t.Errorf("%v, %v", words, err)
	}
}

func FuzzAQuotedWordIsReadAsItIs(f *testing.F) {
	for _, text := range []string{"", "a b", "it's", `\`, "'", "#", "a\nb", "é|"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, _, err := split("a " + Quote(text) + " b")
		if err != nil || !slices.Equal(texts(words), []string{"a", text, "b"}) {
			t.Errorf("%q: %q, %v", text, texts(words), err)
		}
		_, _, _ = split(text)
	})
}
