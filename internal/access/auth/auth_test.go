package auth

import (
	"context"
	"errors"
	"testing"
)

type verifier func(Credential) (Principal, error)

func (v verifier) Verify(_ context.Context, c Credential) (Principal, error) { return v(c) }

func TestChain(t *testing.T) {
	ctx := t.Context()
	skip := verifier(func(Credential) (Principal, error) { return Principal{}, ErrNoCredential })
	admit := verifier(func(Credential) (Principal, error) { return Principal{Tenant: "t", Role: RoleAgent}, nil })
	refuse := verifier(func(Credential) (Principal, error) { return Principal{}, Refuse(CauseExpired) })
	down := verifier(func(Credential) (Principal, error) { return Principal{}, errors.New("no store") })
	t.Run("the first that knows the kind of credential decides", func(t *testing.T) {
		if p, err := (Chain{skip, admit, refuse}).Verify(ctx, Credential{}); err != nil || p.Tenant != "t" {
			t.Fatalf("got %v, %v", p, err)
		}
		if _, err := (Chain{skip, refuse, admit}).Verify(ctx, Credential{}); !errors.Is(err, ErrRefused) || CauseOf(err) != CauseExpired {
			t.Fatalf("a refused credential was asked on: %v", err)
		}
		if _, err := (Chain{down, admit}).Verify(ctx, Credential{}); err == nil || CauseOf(err) != "" {
			t.Fatalf("a store that is down must fail the call, got %v", err)
		}
	})
	t.Run("without a credential there is no principal", func(t *testing.T) {
		if _, err := (Chain{skip}).Verify(ctx, Credential{}); CauseOf(err) != CauseNone {
			t.Fatal(err)
		}
		if _, err := (Chain{skip}).Verify(ctx, Credential{Token: "x"}); CauseOf(err) != CauseMalformed {
			t.Fatal(err)
		}
	})
	t.Run("a principal without tenant, role, or the user that its role needs is refused", func(t *testing.T) {
		for _, bad := range []Principal{
			{}, {Tenant: "t"}, {Role: RoleAdmin}, {Tenant: "t", Role: RoleUser}, {Tenant: "t", Role: 9},
		} {
			v := verifier(func(Credential) (Principal, error) { return bad, nil })
			if _, err := (Chain{v}).Verify(ctx, Credential{Token: "x"}); CauseOf(err) != CauseClaims {
				t.Errorf("%+v was let in: %v", bad, err)
			}
		}
	})
}
