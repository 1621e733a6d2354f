package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

func (c *client) backupCommand() *cobra.Command {
	return parentCommand("backup", "Keep everything in archives, and restore them", `  sluice backup create monday
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

// carryTime bounds the transfer of an archive.
const carryTime = 10 * time.Minute

// passphraseFlag adds --passphrase and returns a function that reads it.
func passphraseFlag(cmd *cobra.Command, about string) func() (string, error) {
	asked := cmd.Flags().Bool("passphrase", false, about+"; it is asked for, or is the first line of the standard input")
	return func() (string, error) {
		if !*asked {
			return "", nil
		}
		return newPassword(cmd)
	}
}

func (c *client) backupCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a backup of configuration, certificates, users, settings and scripts",
		Long: `Make a backup of configuration, certificates with their keys, users, groups,
roles, API keys, settings and scripts. Its private keys stay sealed with the
node key, so that it can be restored on this node; with --passphrase all of it
is encrypted and can be restored on any. The history, logs, numbers over time
and the certificate of the API are in none.`,
		Example: "  sluice backup create monday\n  sluice backup create monday --passphrase < passphrase.txt", Args: exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	passphrase := passphraseFlag(cmd, "encrypt it, and let it be restored on other nodes")
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
		Use: "show NAME", Short: "Show what a backup is of", Example: "  sluice backup show monday", Args: exactly(1), ValidArgsFunction: c.completer([]argument{aBackup}, nil),
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
		Use: "download NAME [FILE]", Short: "Write a backup to a new file, or with - to standard output",
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
		Use: "upload NAME FILE", Short: "Put an archive among the backups; it is checked first, and not applied",
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
		Use: "apply NAME", Short: "Restore a backup: everything is as it was then, in one step",
		Long: `Restore a backup: everything is as it was then, in one step, or nothing is
changed. What was there before is kept as the backup before-restore, which can
be applied as well; the configuration alone goes back by sluice rollback. Users,
groups, roles, API keys and settings are restored for root only, and scripts
where this is run on the machine itself. With --system=false the settings of the
machine (sluice system) and aliases stay as they are: name servers and addresses
of another machine may be none of this one's.`,
		Example: "  sluice backup apply monday\n  sluice backup apply monday --passphrase < passphrase.txt\n  sluice backup apply monday --system=false\n  sluice backup apply before-restore", Args: exactly(1), ValidArgsFunction: c.completer([]argument{aBackup}, nil),
	}
	force := cmd.Flags().Bool("force", false, "also one that another release made, and one after which resolvers reject a signed zone")
	machine := cmd.Flags().Bool("system", true, "restore settings of the machine and aliases too")
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
		Use: "supportsave [FILE]", Short: "Write what somebody needs who looks for a fault: configuration, state, logs, without secrets",
		Long: `Write a tar.gz of what somebody needs who looks for a fault: the configuration
with secrets masked, states and numbers, the ends of logs, what the kernel has
for farms and networks, and what the processes do. Passwords, keys and whatever
is called so are masked; look through it before you give it away all the same.`,
		Example: "  sluice supportsave\n  sluice supportsave - | tar tz", Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.save(cmd, "/system/supportsave", append(args, "")[0])
		},
	}
}

func (c *client) systemFactory() *cobra.Command {
	cmd := &cobra.Command{
		Use: "factory --force", Short: "Make the appliance what it was when it was installed",
		Long: `Make the appliance what it was when it was installed: farms, history,
certificates, users, groups, roles and settings are gone. Root and its keys, the
certificate and the names of the API stay, and so do scripts and logs. Backups
stay, with one more of what there was (before-restore), unless they are to be
removed as well.`,
		Example: "  sluice system factory --force\n  sluice system factory --force --remove-backups", Args: exactly(0),
	}
	force := cmd.Flags().Bool("force", false, "it is meant")
	remove := cmd.Flags().Bool("remove-backups", false, "delete all backups too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*force {
			return usagef("everything goes: say so with --force")
		}
		a, err := c.send(cmd.Context(), http.MethodPost, "/system/factory", map[string]any{"force": "true", "remove_backups": fmt.Sprint(*remove)})
		return c.orSay(cmd, a, err)
	}
	return cmd
}

func (c *client) systemScripts() *cobra.Command {
	cmd := c.named("scripts", "List scripts that hear of events, and what they did last", "system", "/system/scripts", func(rows []map[string]any) *show.Sheet {
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

// orBlank returns v, or "" if it is nil.
func orBlank(v any) any {
	if v == nil {
		return ""
	}
	return v
}
