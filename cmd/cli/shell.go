package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/shell"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

const shellName = "shell"

func shellCommand(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: shellName, Short: "Start an interactive shell with completion and history",
		Long: `Start an interactive shell, in which commands are typed without the word sluice.
Tab completes names as in bash, the arrow keys browse the history, and Ctrl-R
searches it. Quotes and # work as in sh; there is no expansion, and there are no
pipes or redirections. Flags of the shell (--url, --key, --json and the like)
apply to all commands in it. Ctrl-C ends the running command, exit or Ctrl-D the
shell; its exit status is that of the last command.

The history is kept in ~/.local/share/sluice/history (XDG_DATA_HOME), readable
only by you. It omits lines that begin with a blank or contain a secret, and
prompted passwords. If standard input is not a terminal, it is a script: it runs
line by line and continues after a failed command.`,
		Example: "  sluice shell\n  sluice shell --url https://lb.example.com:444 --cacert lb.pem\n  sluice shell < commands.txt", Args: command.Exactly(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		Annotations:       map[string]string{command.RunsCommands: "yes"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			sh := &shell.Shell{
				Name: "sluice", Errors: cmd.ErrOrStderr(), Private: command.IsPrivate,
				Run: func(words []string, in io.Reader) int {
					return runWithin(c, cmd, words, in, cmd.OutOrStdout(), cmd.ErrOrStderr())
				},
				Complete: func(words []string, last string) shell.Offers { return completions(c, cmd, words, last) },
			}
			code, err := converse(c, cmd, sh)
			if err == nil && code != command.ExitDone {
				err = &command.ExitStatus{Code: code}
			}
			return err
		},
	}
}

func converse(c *command.Line, cmd *cobra.Command, sh *shell.Shell) (int, error) {
	in := terminal.Of(cmd.InOrStdin())
	if in == nil {
		return sh.Script(cmd.InOrStdin())
	}
	path, err := historyFile()
	if err == nil {
		sh.History, err = shell.OpenHistory(path)
	}
	if err != nil {
		command.Warn(cmd, fmt.Sprintf("the previous history cannot be read: %v", err))
	}
	if sh.History == nil {
		sh.History = &shell.History{}
	}
	sh.Prompt = nodeName(c, cmd.Context()) + "> "
	code, err := sh.Talk(in, cmd.OutOrStdout())
	return code, errors.Join(err, sh.History.Close())
}

// historyFile returns the path of the user's history.
func historyFile() (string, error) {
	dir := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(dir, "sluice", "history"), nil
}

// nodeName returns the hostname of the appliance, or a substitute if it does not respond.
func nodeName(c *command.Line, ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, command.CompletionTimeout)
	defer cancel()
	var body struct{ Params struct{ Hostname string } }
	if a, err := c.Get(ctx, "/system/version"); err == nil && a.Decode(&body) == nil && body.Params.Hostname != "" {
		return show.Clean(body.Params.Hostname)
	}
	return "sluice (no response)"
}

// runWithin runs a command of the shell, with the flags of the shell before its own.
func runWithin(c *command.Line, cmd *cobra.Command, words []string, in io.Reader, out, wrong io.Writer) int {
	inner := Root()
	for _, sub := range inner.Commands() {
		if sub.Name() == shellName {
			inner.RemoveCommand(sub) // no nested shells
		}
	}
	return Run(inner, append(flagsOf(cmd), words...), in, out, wrong)
}

// flagsOf returns the common flags that the command was given.
func flagsOf(cmd *cobra.Command) (out []string) {
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			out = append(out, "--"+f.Name+"="+f.Value.String())
		}
	})
	return out
}

// completions returns completions from the commands, like bash completion.
func completions(c *command.Line, cmd *cobra.Command, words []string, last string) (out shell.Offers) {
	var said bytes.Buffer
	ask := append([]string{cobra.ShellCompRequestCmd}, words...)
	if runWithin(c, cmd, append(ask, last), strings.NewReader(""), &said, io.Discard) != command.ExitDone {
		return out
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	end := len(lines) - 1
	number, _ := strconv.Atoi(strings.TrimPrefix(lines[end], ":"))
	how := cobra.ShellCompDirective(number)
	for _, line := range lines[:end] {
		word, about, _ := strings.Cut(line, "\t")
		out.Words = append(out.Words, shell.Offer{Word: show.Clean(word), About: show.Clean(about)})
	}
	out.Open = how&cobra.ShellCompDirectiveNoSpace != 0
	out.Files = how&(cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveError) == 0
	return out
}
