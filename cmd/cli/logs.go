package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/terminal"
	"github.com/sluicelb/sluice/mgmt/accesslog"
)

func logsCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "logs [FARM]", Short: "Show the access log of a farm, or the log of the appliance",
		Long: `Show the last lines of the access log of a farm or, without one, of the log of
the appliance: the file or systemd journal that its standard error goes to.
--follow adds new lines until interrupted. With --json each line is an object:
{"line": TEXT}, or the entry of the journal.`,
		Example: "  sluice logs shop\n  sluice logs shop --follow --lines 100\n  sluice logs --follow",
		Args:    command.AtMost(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
	}
	lines := cmd.Flags().IntP("lines", "n", 20, "number of last lines")
	follow := cmd.Flags().BoolP("follow", "f", false, "also show new lines")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *lines < 0:
			return command.Usagef("--lines must be 0 or more, got %d", *lines)
		case c.API.URL != "":
			return command.Usagef("logs are read where the appliance runs: use `sluice trace` from elsewhere")
		}
		source, err := logOf(c, cmd.Context(), args)
		if err != nil {
			return err
		}
		if source == journal {
			return journalctl(c, cmd, *lines, *follow)
		}
		t := tail{path: source, out: cmd.OutOrStdout(), clean: terminal.Of(cmd.OutOrStdout()) != nil}
		if c.JSON {
			t.out = &jsonLines{to: t.out}
		}
		if err := t.show(cmd.Context(), *lines, *follow); errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("no permission to read %s: use sudo, or run as the user of sluice", source)
		} else if err != nil {
			return err
		}
		return nil
	}
	return cmd
}

// journal stands for the systemd journal in place of a file.
const journal = "journal"

func logOf(c *command.Line, ctx context.Context, args []string) (string, error) {
	if len(args) == 0 {
		return ownLog(c, ctx)
	}
	return accessLog(c, ctx, args[0])
}

// accessLog returns the access log file of a farm.
func accessLog(c *command.Line, ctx context.Context, farm string) (string, error) {
	path, err := client.Path("farms", farm)
	if err != nil {
		return "", err
	}
	a, err := c.GetBrief(ctx, path)
	if err != nil {
		return "", err
	}
	var body struct {
		Params struct {
			Logs   string
			Sink   string `json:"log_sink"`
			File   string `json:"log_file"`
			Target string `json:"log_target"`
		}
	}
	if err := a.Decode(&body); err != nil {
		return "", err
	}
	switch p := body.Params; {
	case p.Logs != "true":
		return "", fmt.Errorf("farm %s has no access log: `sluice farm set %s logs=true` starts one, `sluice trace %s` shows current traffic", farm, farm, farm)
	case p.Sink == "syslog":
		return "", fmt.Errorf("the access log of farm %s goes to the syslog server %s", farm, p.Target)
	case p.Sink == "stdout":
		return "", fmt.Errorf("the access log of farm %s goes to the standard output of `sluice run`", farm)
	default:
		return filepath.Join(c.API.Data, accesslog.Folder, cmp.Or(p.File, farm)+accesslog.Ending), nil
	}
}

// ownLog returns the destination of the appliance's standard error.
func ownLog(c *command.Line, ctx context.Context) (string, error) {
	a, err := c.Get(ctx, "/status")
	if err != nil {
		return "", err
	}
	var body struct{ Params state }
	if err := a.Decode(&body); err != nil {
		return "", err
	}
	for _, role := range body.Params.Roles {
		target, err := os.Readlink("/proc/" + parent(role.PID) + "/fd/2")
		switch {
		case role.PID == 0 || errors.Is(err, fs.ErrNotExist):
			continue // it has just ended
		case err != nil:
			return "", errors.New("no permission to find the log: use sudo, or run as the user of sluice")
		}
		if info, err := os.Stat(target); err == nil && info.Mode().IsRegular() {
			return target, nil
		}
		if strings.HasPrefix(target, "socket:") {
			return journal, nil
		}
		return "", fmt.Errorf("the appliance logs to the terminal or program that started it (%s)", target)
	}
	return "", errors.New("no process of the appliance runs")
}

// parent returns the parent of a process: for a role, the supervisor.
func parent(pid int) string {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, rest, _ := strings.Cut(string(status), "\nPPid:")
	line, _, _ := strings.Cut(rest, "\n")
	return cmp.Or(strings.TrimSpace(line), "none")
}

// journalctl shows the journal of the appliance's unit.
func journalctl(c *command.Line, cmd *cobra.Command, lines int, follow bool) error {
	args := []string{"--no-pager", "-u", "sluice", "-n", strconv.Itoa(lines)}
	if c.JSON {
		args = append(args, "-o", "json")
	}
	if follow {
		args = append(args, "-f")
	}
	run := exec.CommandContext(cmd.Context(), "journalctl", args...)
	run.Stdout, run.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := run.Run(); err != nil && !command.Interrupted(cmd.Context()) {
		return fmt.Errorf("journalctl: %w", err)
	}
	return nil
}
