package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

func backupCommand(c *command.Line) *cobra.Command {
	return command.Parent("backup", "Back up and restore the appliance", `  sluice backup create monday
  sluice backup create monday --passphrase
  sluice backup download monday monday.tar.gz
  sluice backup apply monday`,
		backupCreate(c), command.ListCommand(c, "list", "List the backups, the newest first", "backup", "/system/backup", backups), backupShow(c),
		backupDownload(c), backupUpload(c), backupApply(c), command.DeleteCommand(c, "delete", "Delete a backup", "backup", "/system/backup"))
}

// backups returns a table of backups.
func backups(rows []map[string]any) *show.Sheet {
	s := show.NewSheet("NAME", "DATE", "RELEASE", "NODE", "SIZE", "ENCRYPTED", "PROBLEM")
	for _, r := range rows {
		s.Add(r["name"], r["date"], r["version"], r["hostname"], r["size"], r["encrypted"], r["problem"])
	}
	return s
}

// passphraseFlag adds --passphrase and returns a function that reads it.
func passphraseFlag(cmd *cobra.Command, about string) func() (string, error) {
	asked := cmd.Flags().Bool("passphrase", false, about+"; prompted for on a terminal, else the first line of standard input")
	return func() (string, error) {
		if !*asked {
			return "", nil
		}
		return command.NewPassword(cmd)
	}
}

func backupCreate(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a backup of configuration, certificates, users, settings and scripts",
		Long: `Create a backup of the configuration, certificates with their keys, users,
groups, roles, API keys, settings and scripts. Private keys stay sealed with the
node key, so the backup can be restored on this node only; with --passphrase the
whole backup is encrypted and can be restored on any node. Backups do not
contain the history, logs, time series and the certificate of the API.`,
		Example: "  sluice backup create monday\n  sluice backup create monday --passphrase < passphrase.txt", Args: command.Exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	passphrase := passphraseFlag(cmd, "encrypt the backup, so that other nodes can restore it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields := map[string]any{"name": args[0]}
		secret, err := passphrase()
		if err != nil {
			return err
		}
		if secret != "" {
			fields["passphrase"] = secret
		}
		a, err := c.Send(cmd.Context(), http.MethodPost, "/system/backup", fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}

func backupShow(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show the contents of a backup", Example: "  sluice backup show monday", Args: command.Exactly(1), ValidArgsFunction: c.Completer([]command.Argument{command.BackupName}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("system", "backup", args[0], "info")
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), path)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params map[string]any }
			if err := a.Decode(&body); err != nil {
				return err
			}
			return c.Print(cmd, backups([]map[string]any{body.Params}))
		},
	}
}

func backupDownload(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "download NAME [FILE]", Short: "Download a backup to a new file, or with - to standard output",
		Example: "  sluice backup download monday\n  sluice backup download monday - | ssh safe 'cat > monday.tar.gz'", Args: command.Between(1, 2), ValidArgsFunction: c.Completer([]command.Argument{command.BackupName}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("system", "backup", args[0])
			if err != nil {
				return err
			}
			return save(c, cmd, path, append(args[1:], "")[0])
		},
	}
}

// save writes the resource at a path to a file with that name, or with the name in the
// response.
func save(c *command.Line, cmd *cobra.Command, path, name string) error {
	a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodGet, Path: path, Timeout: command.TransferTimeout})
	if err != nil {
		return err
	}
	if name == "-" {
		_, err = cmd.OutOrStdout().Write(a.Body)
		return err
	}
	_, sent, _ := mime.ParseMediaType(a.Header.Get("Content-Disposition"))
	name = cmp.Or(name, filepath.Base(cmp.Or(sent["filename"], "download")))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write it to a file: %w", err)
	}
	_, err = f.Write(a.Body)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write it to a file: %w", err)
	}
	if c.JSON {
		b, err := json.MarshalIndent(map[string]any{"file": name, "size": len(a.Body)}, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), string(b))
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d bytes have been written to %s.\n", len(a.Body), show.Clean(name))
	return err
}

func backupUpload(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "upload NAME FILE", Short: "Upload a backup; it is verified and not applied",
		Example: "  sluice backup upload monday monday.tar.gz", Args: command.Exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("system", "backup", args[0])
			if err != nil {
				return err
			}
			content, err := os.ReadFile(args[1])
			if err != nil {
				return err
			}
			a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodPut, Path: path, Body: content, Sources: args[1:], ContentType: "application/gzip", Timeout: command.TransferTimeout})
			return c.Finish(cmd, a, err)
		},
	}
}

func backupApply(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "apply NAME", Short: "Restore a backup in one step",
		Long: `Restore a backup in one step: all of it, or nothing is changed. The previous
state is kept as the backup before-restore, which can be applied as well;
sluice rollback reverts the configuration alone. Users, groups, roles, API keys
and settings are restored for root only, and scripts only if the command runs on
the appliance itself. With --system=false the settings of the machine (sluice
system) and aliases stay: name servers and addresses of another machine may not
apply here.`,
		Example: "  sluice backup apply monday\n  sluice backup apply monday --passphrase < passphrase.txt\n  sluice backup apply monday --system=false\n  sluice backup apply before-restore", Args: command.Exactly(1), ValidArgsFunction: c.Completer([]command.Argument{command.BackupName}, nil),
	}
	force := cmd.Flags().Bool("force", false, "accept a backup of another release, and one after which resolvers reject a signed zone")
	machine := cmd.Flags().Bool("system", true, "also restore settings of the machine and aliases")
	passphrase := passphraseFlag(cmd, "the backup is encrypted")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := client.Path("system", "backup", args[0], "actions")
		if err != nil {
			return err
		}
		fields := map[string]any{"action": "apply", "force": fmt.Sprint(*force)}
		if !*machine {
			fields["system"] = "false"
		}
		secret, err := passphrase()
		if err != nil {
			return err
		}
		if secret != "" {
			fields["passphrase"] = secret
		}
		body, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodPost, Path: path, Body: body,
			Timeout: command.TransferTimeout})
		return c.Finish(cmd, a, err)
	}
	return cmd
}

func supportsaveCommand(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "supportsave [FILE]", Short: "Write a diagnostics archive: configuration, state and logs, without secrets",
		Long: `Write a diagnostics archive (tar.gz): the configuration with masked secrets,
states and counters, the ends of logs, kernel state of farms and networks, and
the stacks of the processes. Passwords, keys and values named like them are
masked; review the archive all the same before you share it.`,
		Example: "  sluice supportsave\n  sluice supportsave - | tar tz", Args: command.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return save(c, cmd, "/system/supportsave", append(args, "")[0])
		},
	}
}

func systemFactory(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "factory --force", Short: "Reset the appliance to factory settings",
		Long: `Reset the appliance to factory settings. Farms, history, certificates, users,
groups, roles and settings are deleted. Root and its keys, the certificate and
names of the API, scripts and logs stay. Backups stay, and the current state is
added to them as before-restore, unless --remove-backups is given.`,
		Example: "  sluice system factory --force\n  sluice system factory --force --remove-backups", Args: command.Exactly(0),
	}
	force := cmd.Flags().Bool("force", false, "confirm that everything is deleted")
	remove := cmd.Flags().Bool("remove-backups", false, "also delete all backups")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*force && !c.DryRun {
			return command.Usagef("this deletes all configuration: confirm with --force")
		}
		a, err := c.Send(cmd.Context(), http.MethodPost, "/system/factory", map[string]any{"force": "true", "remove_backups": fmt.Sprint(*remove)})
		return c.Finish(cmd, a, err)
	}
	return cmd
}

func systemScripts(c *command.Line) *cobra.Command {
	cmd := command.ListCommand(c, "scripts", "List event scripts and their last runs", "system", "/system/scripts", func(rows []map[string]any) *show.Sheet {
		s := show.NewSheet("NAME", "EVENT", "CALLS", "FAILED", "DROPPED", "LAST", "OUTCOME")
		for _, r := range rows {
			last, outcome := any(""), any(r["problem"])
			if runs, _ := r["runs"].([]any); len(runs) > 0 {
				if run, ok := runs[0].(map[string]any); ok {
					last, outcome = run["time"], cmp.Or(fmt.Sprint(command.OrBlank(run["failure"])), "done")
				}
			}
			s.Add(r["name"], r["event"], r["calls"], r["failed"], r["dropped"], last, command.OrBlank(outcome))
		}
		return s
	})
	return cmd
}
