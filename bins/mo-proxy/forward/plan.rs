//! Where a request goes: to Anthropic as it came, along the places of a route, or nowhere.

use crate::gateway::Gateway;
use crate::guard;
use crate::live::Live;
use crate::route::{Leg, Route, Way};
use crate::wire::head::Head;
use crate::wire::reply::Reply;

use super::ask::Ask;

/// The places, in order, or why there are none.
pub fn legs(head: &Head, ask: &Ask<'_>, gateway: &Gateway, live: &Live, id: &str) -> Result<Route, Reply> {
    if let Some(doubt) = &ask.doubt {
        return Err(Reply::error(400, doubt, id));
    }
    // What names no model is Anthropic's: it knows what else its own client asks for.
    let Some(model) = &ask.model else { return Ok(as_it_came()) };
    let route = live.routes.find(model).map_err(|unknown| Reply::error(404, &unknown.to_string(), id))?;
    let adds_a_key = route.legs.iter().any(|leg| matches!(leg.way, Way::Provider(_)));
    // Asked for only where it is needed: most requests have no token to compare.
    if adds_a_key && let Some(reply) = guard::refuse_without_token(head, gateway, id) {
        return Err(reply);
    }
    within_the_limit(route, gateway, id)
}

/// At the daily limit, what is billed by use is refused; a plan that is paid by the month goes on.
fn within_the_limit(mut route: Route, gateway: &Gateway, id: &str) -> Result<Route, Reply> {
    if gateway.observer.refuses() {
        route.legs.retain(|leg| !is_billed(leg));
        if route.legs.is_empty() {
            let message = "the daily limit of mo-proxy's configuration is reached; \
                           it begins anew at midnight UTC, and `daily_limit` raises it";
            return Err(Reply::error(402, message, id));
        }
    }
    Ok(route)
}

fn is_billed(leg: &Leg) -> bool {
    match &leg.way {
        Way::Anthropic => false,
        Way::Provider(provider) => !provider.flat_plan,
    }
}

fn as_it_came() -> Route {
    let leg = Leg { way: Way::Anthropic, model: String::new(), profile: None };
    Route { why: crate::route::Why::Claude, legs: vec![leg] }
}
