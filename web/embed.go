// Package web holds the administration GUI as it was built: `make build` writes
// it to dist. What it is made of lies in src, in TypeScript.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files are the built pages: index.html and what it loads. Without a build there
// is nothing in them but a file that keeps the folder.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return files
}
