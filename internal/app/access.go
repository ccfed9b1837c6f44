package app

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/stratamem/strata/internal/auth"
	"github.com/stratamem/strata/internal/certificates"
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/service"
)

// newAccess makes what handles keys and returns what verifies callers, nil while authentication is off. Where it is asked for it makes
// the first key.
func (a *App) newAccess(ctx context.Context) (auth.Verifier, error) {
	profiles, err := profiles(a.cfg)
	if err != nil {
		return nil, err
	}
	a.access = service.NewAccess(service.AccessOptions{
		Store: a.store, Now: a.store.Now, ForgetKey: a.keys.Forget, ForgetTenant: a.limits.tenants.Forget, Profiles: profiles.Known,
		Book: a.limits.book, Budget: a.limits.budget, Unpriced: a.models.own.unpriced, CheckModels: a.models.own.Check,
		EraseTenants: a.newTenantEraser(),
	})
	if a.cfg.BootstrapKey {
		first := service.NewAPIKey{Tenant: auth.DefaultTenant, Role: auth.RoleAdmin, Name: "bootstrap"}
		token, err := a.access.CreateFirstKey(ctx, first)
		if err != nil {
			return nil, fmt.Errorf("make the first key: %w", err)
		}
		a.firstKey = token
	}
	if a.cfg.Auth != config.AuthRequired {
		return nil, nil
	}
	return a.limits.tenants, nil
}

// verifiers opens the certificates of the port, and makes what knows the credentials that are configured: keys always.
func (a *App) verifiers() (auth.Chain, error) {
	a.keys = auth.NewKeys(a.store, a.store.Now, a.log)
	all := auth.Chain{a.keys}
	if a.cfg.JWTIssuer != "" {
		role, err := auth.ParseRole(a.cfg.JWTOtherwise)
		if err != nil {
			return nil, fmt.Errorf("jwt-role: %w", err)
		}
		tokens, err := auth.NewJWT(auth.Issuer{
			URL: a.cfg.JWTIssuer, Audience: a.cfg.JWTAudience, KeySet: a.cfg.JWTKeys, Claims: auth.Claims{
				Tenant: a.cfg.JWTTenant, User: a.cfg.JWTUser, Role: a.cfg.JWTRole,
				Otherwise: auth.Principal{Tenant: auth.DefaultTenant, Role: role},
			},
		}, a.store.Now)
		if err != nil {
			return nil, fmt.Errorf("jwt-keys: %w", err)
		}
		all = append(all, tokens)
	}
	if a.cfg.TLSCert == "" {
		return all, nil
	}
	var err error
	a.tls, err = certificates.Open(certificates.Files{Cert: a.cfg.TLSCert, Key: a.cfg.TLSKey, ClientCA: a.cfg.TLSClientCA}, a.log)
	if err != nil {
		return nil, fmt.Errorf("tls-cert: %w", err)
	}
	names := map[string]auth.Principal{}
	for name, rule := range a.cfg.ClientCertificates {
		names[name] = rule.Principal()
	}
	if len(names) > 0 {
		all = append(all, auth.NewCertificates(names, a.store.Now))
	}
	return all, nil
}

// tlsConfig is nil where the port speaks no TLS.
func (a *App) tlsConfig() *tls.Config {
	if a.tls == nil {
		return nil
	}
	return a.tls.Config()
}

// newTenantEraser makes what erases whole tenants, and returns what wakes it.
func (a *App) newTenantEraser() (wake func()) {
	// A call that was let in before the tenant was suspended may write as long as a call may take.
	settle := a.cfg.RequestTimeout
	if a.stores.file == nil { // other servers may believe for a while that the tenant may call
		settle += auth.Believed
	}
	a.tenantEraser = erasure.NewTenants(erasure.TenantsOptions{
		Store: a.store, Settle: settle, Log: a.log, Now: a.store.Now,
		Erase: func(ctx context.Context, user memory.UserRef) error {
			_, err := a.eraser.Erase(ctx, service.Erase{Kind: memory.EraseUser, User: user})
			return err
		},
	})
	return a.tenantEraser.Wake
}

// FirstKey is the token of the key that this start made because bootstrap-key asked for it and there was none; "" otherwise. It is
// shown to whoever started the server, and kept nowhere.
func (a *App) FirstKey() string { return a.firstKey }

func (a *App) authentication() Feature {
	if a.cfg.Auth == config.AuthRequired {
		return Feature{Name: "authentication", On: true, Why: "every call needs a credential: a key of strata keys create" + a.otherCredentials()}
	}
	return Feature{
		Name: "authentication", On: false,
		Why: "every caller may do everything in the tenant " + auth.DefaultTenant + ": set auth to required",
	}
}

// otherCredentials names what counts beside keys.
func (a *App) otherCredentials() string {
	others := ""
	if a.cfg.JWTIssuer != "" {
		others += ", a token of " + a.cfg.JWTIssuer
	}
	if len(a.cfg.ClientCertificates) > 0 {
		others += ", a client's certificate"
	}
	return others
}

func (a *App) encryption() Feature {
	if a.cfg.TLSCert == "" {
		return Feature{Name: "TLS", Why: "the port speaks plain text: set tls-cert and tls-key, or leave TLS to a proxy before it"}
	}
	return Feature{Name: "TLS", On: true, Why: "the port speaks TLS 1.2 or later, with " + a.cfg.TLSCert}
}
