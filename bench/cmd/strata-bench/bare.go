package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // the same engine as the server's, without anything around it

	"github.com/stratamem/strata/internal/testing/conversations"
)

// bare is the floor under Record: one durable insert of the same bytes into an otherwise empty SQLite file, with the
// same settings, by one connection of this process, with no network and no transcript around it.
type bare struct {
	db     *sql.DB
	insert *sql.Stmt
	body   []byte
}

func openBare(ctx context.Context, path string) (*bare, error) {
	q := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(5000)"}}
	db, err := sql.Open("sqlite", "file:"+path+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open bare file: %w", err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE turns (id INTEGER PRIMARY KEY, body BLOB NOT NULL)"); err != nil {
		return nil, fmt.Errorf("create bare table: %w", err)
	}
	insert, err := db.PrepareContext(ctx, "INSERT INTO turns (body) VALUES (?)")
	if err != nil {
		return nil, fmt.Errorf("prepare bare insert: %w", err)
	}
	return &bare{db, insert, []byte(conversations.Text(9, turnBytes))}, nil
}

func (b *bare) record(ctx context.Context) error {
	_, err := b.insert.ExecContext(ctx, b.body)
	return err
}

func (b *bare) close() error { return b.db.Close() }
