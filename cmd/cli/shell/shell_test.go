package shell_test

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/cli/shell"
)

// noting is a shell that records its commands; "fail" returns 1, "read" reads a line.
func noting(said *bytes.Buffer) *shell.Shell {
	return &shell.Shell{
		Name: "sluice", Errors: said, Private: func([]string) bool { return false },
		Run: func(words []string, in io.Reader) int {
			said.WriteString(strings.Join(words, "|") + "\n")
			switch words[0] {
			case "fail":
				return 1
			case "read":
				line, _ := bufio.NewReader(in).ReadString('\n')
				said.WriteString("read " + line)
			}
			return 0
		},
	}
}

func TestAScriptIsRunLineByLine(t *testing.T) {
	for script, want := range map[string]struct {
		status int
		said   string
	}{
		"":                                  {0, ""},
		"farm list\n\n# why\nsluice status": {0, "farm|list\nstatus\n"},
		"\ufefffarm list\n":                 {0, "farm|list\n"},
		"fail\n":                            {1, "fail\n"},
		"fail\nstatus":                      {0, "fail\nstatus\n"},
		"fail\nexit\nstatus\n":              {1, "fail\n"},
		"fail\n\n":                          {1, "fail\n"},
		"quit 7\nstatus":                    {7, ""},
		"exit x\n":                          {2, "sluice: write exit, or exit with a number from 0 to 255\n"},
		"a > b\nstatus\n":                   {0, "sluice: '>' has no meaning here: there are no pipes, files and lists of commands; write it in quotes if it is part of a word\nstatus\n"},
		"a 'b\nc' d\n":                      {0, "a|b\nc|d\n"},
		"a \\\n  b\n":                       {0, "a|b\n"},
		"status\na 'b\n":                    {2, "status\nsluice: a quote is not closed\n"},
		"read\nsecret\nstatus\n":            {0, "read\nread secret\nstatus\n"},
	} {
		var said bytes.Buffer
		status, err := noting(&said).Script(strings.NewReader(script))
		if err != nil || status != want.status || said.String() != want.said {
			t.Errorf("%q: %d, %v, %q, want %d %q", script, status, err, &said, want.status, want.said)
		}
	}
}
