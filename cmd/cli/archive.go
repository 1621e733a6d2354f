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

	"github.com/sluicelb/sluice/cmd/cli/show"
)

func (c *client) backupCommand() *cobra.Command {
	return parentCommand("backup", "Back up and restore the appliance", `  sluice backup create monday
  sluice backup create monday --passphrase
  sluice backup download monday monday.tar.gz
  sluice backup apply monday`,
		c.backupCreate(), c.named("list", "List the backups, the newest first", "backup", "/system/backup", backups), c.backupShow(),
		c.backupDownload(), c.backupUpload(), c.backupApply(), c.gone("delete", "Delete a backup", "backup", "/system/backup"))
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
		return newPassword(cmd)
	}
}

func (c *client) backupCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a backup of configuration, certificates, users, settings and scripts",
		Long: `Create a backup of the configuration, certificates with their keys, users,
groups, roles, API keys, settings and scripts. Private keys stay sealed with the
node key, so the backup can be restored on this node only; with --passphrase the
whole backup is encrypted and can be restored on any node. Backups do not
contain the history, logs, time series and the certificate of the API.`,
		Example: "  sluice backup create monday\n  sluice backup create monday --passphrase < passphrase.txt", Args: exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
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
		a, err := c.send(cmd.Context(), http.MethodPost, "/system/backup", fields)
		return c.orSay(cmd, a, err)
	}
	return cmd
}

func (c *client) backupShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show the contents of a backup", Example: "  sluice backup show monday", Args: exactly(1), ValidArgsFunction: c.completer([]argument{aBackup}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOf("system", "backup", args[0], "info")
			if err != nil {
				return err
			}
			a, err := c.get(cmd.Context(), path)
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct{ Params map[string]any }
			if err := a.into(&body); err != nil {
				return err
			}
			return c.print(cmd, backups([]map[string]any{body.Params}))
		},
	}
}

func (c *client) backupDownload() *cobra.Command {
	return &cobra.Command{
		Use: "download NAME [FILE]", Short: "Download a backup to a new file, or with - to standard output",
		Example: "  sluice backup download monday\n  sluice backup download monday - | ssh safe 'cat > monday.tar.gz'", Args: between(1, 2), ValidArgsFunction: c.completer([]argument{aBackup}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOf("system", "backup", args[0])
			if err != nil {
				return err
			}
			return c.save(cmd, path, append(args[1:], "")[0])
		},
	}
}

// save writes the resource at a path to a file with that name, or with the name in the
// response.
func (c *client) save(cmd *cobra.Command, path, name string) error {
	a, err := c.do(cmd.Context(), request{method: http.MethodGet, path: path, wait: carryTime})
	if err != nil {
		return err
	}
	if name == "-" {
		_, err = cmd.OutOrStdout().Write(a.raw)
		return err
	}
	_, sent, _ := mime.ParseMediaType(a.header.Get("Content-Disposition"))
	name = cmp.Or(name, filepath.Base(cmp.Or(sent["filename"], "download")))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write it to a file: %w", err)
	}
	_, err = f.Write(a.raw)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write it to a file: %w", err)
	}
	if c.json {
		b, err := json.MarshalIndent(map[string]any{"file": name, "size": len(a.raw)}, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), string(b))
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d bytes have been written to %s.\n", len(a.raw), show.Clean(name))
	return err
}

func (c *client) backupUpload() *cobra.Command {
	return &cobra.Command{
		Use: "upload NAME FILE", Short: "Upload a backup; it is verified and not applied",
		Example: "  sluice backup upload monday monday.tar.gz", Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOf("system", "backup", args[0])
			if err != nil {
				return err
			}
			content, err := os.ReadFile(args[1])
			if err != nil {
				return err
			}
			a, err := c.do(cmd.Context(), request{method: http.MethodPut, path: path, body: content, files: args[1:], kind: "application/gzip", wait: carryTime})
			return c.orSay(cmd, a, err)
		},
	}
}

func (c *client) backupApply() *cobra.Command {
	cmd := &cobra.Command{
		Use: "apply NAME", Short: "Restore a backup in one step",
		Long: `Restore a backup in one step: all of it, or nothing is changed. The previous
state is kept as the backup before-restore, which can be applied as well;
sluice rollback reverts the configuration alone. Users, groups, roles, API keys
and settings are restored for root only, and scripts only if the command runs on
the appliance itself. With --system=false the settings of the machine (sluice
system) and aliases stay: name servers and addresses of another machine may not
apply here.`,
		Example: "  sluice backup apply monday\n  sluice backup apply monday --passphrase < passphrase.txt\n  sluice backup apply monday --system=false\n  sluice backup apply before-restore", Args: exactly(1), ValidArgsFunction: c.completer([]argument{aBackup}, nil),
	}
	force := cmd.Flags().Bool("force", false, "accept a backup of another release, and one after which resolvers reject a signed zone")
	machine := cmd.Flags().Bool("system", true, "also restore settings of the machine and aliases")
	passphrase := passphraseFlag(cmd, "the backup is encrypted")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := pathOf("system", "backup", args[0], "actions")
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
		a, err := c.do(cmd.Context(), request{method: http.MethodPost, path: path, body: body, wait: carryTime})
		return c.orSay(cmd, a, err)
	}
	return cmd
}

func (c *client) supportsaveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "supportsave [FILE]", Short: "Write a diagnostics archive: configuration, state and logs, without secrets",
		Long: `Write a diagnostics archive (tar.gz): the configuration with masked secrets,
states and counters, the ends of logs, kernel state of farms and networks, and
the stacks of the processes. Passwords, keys and values named like them are
masked; review the archive all the same before you share it.`,
		Example: "  sluice supportsave\n  sluice supportsave - | tar tz", Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.save(cmd, "/system/supportsave", append(args, "")[0])
		},
	}
}

func (c *client) systemFactory() *cobra.Command {
	cmd := &cobra.Command{
		Use: "factory --force", Short: "Reset the appliance to factory settings",
		Long: `Reset the appliance to factory settings. Farms, history, certificates, users,
groups, roles and settings are deleted. Root and its keys, the certificate and
names of the API, scripts and logs stay. Backups stay, and the current state is
added to them as before-restore, unless --remove-backups is given.`,
		Example: "  sluice system factory --force\n  sluice system factory --force --remove-backups", Args: exactly(0),
	}
	force := cmd.Flags().Bool("force", false, "confirm that everything is deleted")
	remove := cmd.Flags().Bool("remove-backups", false, "also delete all backups")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*force && !c.dryRun {
			return usagef("this deletes all configuration: confirm with --force")
		}
		a, err := c.send(cmd.Context(), http.MethodPost, "/system/factory", map[string]any{"force": "true", "remove_backups": fmt.Sprint(*remove)})
		return c.orSay(cmd, a, err)
	}
	return cmd
}

func (c *client) systemScripts() *cobra.Command {
	cmd := c.named("scripts", "List event scripts and their last runs", "system", "/system/scripts", func(rows []map[string]any) *show.Sheet {
		s := show.NewSheet("NAME", "EVENT", "CALLS", "FAILED", "DROPPED", "LAST", "OUTCOME")
		for _, r := range rows {
			last, outcome := any(""), any(r["problem"])
			if runs, _ := r["runs"].([]any); len(runs) > 0 {
				if run, ok := runs[0].(map[string]any); ok {
					last, outcome = run["time"], cmp.Or(fmt.Sprint(orBlank(run["failure"])), "done")
				}
			}
			s.Add(r["name"], r["event"], r["calls"], r["failed"], r["dropped"], last, orBlank(outcome))
		}
		return s
	})
	return cmd
}
